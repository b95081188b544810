// Tests the parsing of commands, arguments and flags, and the errors of wrong ones.
import { describe, expect, test } from "bun:test";
import { findCommand, readArguments } from "../../src/cli/arguments.ts";
import { readLimit, readNumber, UsageError } from "../../src/cli/command.ts";
import { loadAllCommands } from "../../src/cli/families.ts";

const read = async (line: string) => {
  const argv = line.split(" ").filter(Boolean);
  const verb = await findCommand(argv);
  const parsed = await readArguments(verb, argv.slice(verb.name.split(" ").length));
  return { name: verb.name, ...parsed };
};
const refuse = async (line: string) => {
  const problem = await read(line).then(
    () => expect.unreachable(),
    (failure) => failure,
  );
  expect(problem).toBeInstanceOf(UsageError);
  return problem.message;
};

test("a command, its arguments and its flags are parsed", async () => {
  expect(await read("dev --port 0 --key=abc --json")).toEqual({
    name: "dev",
    args: [],
    flags: { port: "0", key: "abc", json: true },
  });
  expect(await read("accounts create acme --data d")).toEqual({
    name: "accounts create",
    args: ["acme"],
    flags: { data: "d" },
  });
  expect(await read("accounts create -- -acme")).toMatchObject({ args: ["-acme"] });
});

test("a value after an equals sign may begin with a dash", async () => {
  expect(await read("dev --key=-abc")).toMatchObject({ flags: { key: "-abc" } });
});

test("an argument in brackets is optional", async () => {
  expect((await read("init")).args).toEqual([]);
  expect((await read("init a.toml")).args).toEqual(["a.toml"]);
  expect(await refuse("init a.toml b.toml")).toBe("usage: wadi init [FILE]");
});

test("a repeatable flag is a list", async () => {
  const { flags } = await read("keys create --scope think --scope=search --model m");
  expect(flags).toEqual({ scope: ["think", "search"], model: ["m"] });
});

test("--help and -h need no arguments", async () => {
  expect(await read("keys revoke --help")).toMatchObject({ flags: { help: true } });
  expect(await read("keys revoke -h")).toMatchObject({ flags: { help: true } });
});

test("an unknown command is refused with the nearest one, or with those of its noun", async () => {
  expect(await refuse("devv")).toBe('there is no command "devv"; did you mean `wadi dev`?');
  expect(await refuse("kyes list --json")).toContain("did you mean `wadi keys list`?");
  expect(await refuse("keys")).toBe(
    'there is no command "keys": there are keys create, keys list, keys show, keys update, ' +
      "keys limit, keys revoke, keys rotate, keys chat",
  );
  expect(await refuse("kyes frobnicate")).toContain("did you mean `wadi keys`?");
  expect(await refuse("fly away")).toBe('there is no command "fly away": `wadi` alone lists them');
  expect(await refuse("constructor")).toContain('"constructor"');
});

test("a mistyped command is never corrected to one that starts held work or deletes", async () => {
  for (const typed of [
    ...["accounts relase acme", "agents releas x", "approvals aprove x", "triggers resum x"],
    ...["webhooks replya x", "webhooks recovr x"],
  ]) {
    const message = await refuse(typed);
    expect(message).not.toContain("did you mean");
    expect(message).toContain(": there are ");
  }
  expect(await refuse("accounts hodl acme")).toContain("did you mean `wadi accounts hold`?");
});

test("flags before the command are refused", async () => {
  expect(await refuse("--port 0 dev")).toContain("the command comes before its flags");
  expect(await refuse("keys --account acme create")).toContain('"keys"');
});

describe("wrong flags are refused", () => {
  const lines: [line: string, says: string][] = [
    ["dev --prot 0", "`wadi dev` takes no --prot; did you mean `--port`?"],
    ["dev --host 0.0.0.0", "`wadi dev` takes no --host"],
    ["dev -x", "`wadi dev` takes no -x: see `wadi dev --help`"],
    ["dev --constructor", "takes no --constructor"],
    ["dev --port", "--port needs a value: --port N"],
    ["dev --port --json", "--port needs a value"],
    ["dev --port=", "--port needs a value"],
    ["keys create --scope", "--scope needs a value: --scope NAME"],
    ["dev --json=1", "--json takes no value"],
    ["keys list --no-json", "takes no --no-json"],
    ["keys revoke", "usage: wadi keys revoke KEY_ID"],
    ["keys revoke a b", "usage: wadi keys revoke KEY_ID"],
    ["dev now", "usage: wadi dev"],
  ];
  for (const [line, says] of lines) {
    test(line, async () => {
      expect(await refuse(line)).toContain(says);
    });
  }
});

test("no command's name is a prefix of another's, so the first words identify one", async () => {
  const verbs = await loadAllCommands();
  for (const { name } of verbs) {
    const others = verbs.filter((verb) => verb.name !== name);
    expect(others.filter((verb) => verb.name.startsWith(`${name} `))).toEqual([]);
  }
});

test("a limit is 1 to 10000 rows, and 20 where none is typed", () => {
  const typed = (limit?: string) => readLimit({ args: [], flags: { limit } });
  expect([typed(), typed("1"), typed("10000")]).toEqual([20, 1, 10_000]);
  for (const wrong of ["0", "10001"]) {
    expect(() => typed(wrong)).toThrow("--limit takes 1 to 10000");
  }
});

test("a number has at most 15 digits, which are exact", () => {
  const typed = (n: string) => readNumber({ args: [], flags: { n } }, "n");
  expect([typed("9".repeat(15)), typed("007")]).toEqual([999_999_999_999_999, 7]);
  for (const wrong of ["9".repeat(16), "-1", "1.5", "1e3", ""]) {
    expect(() => typed(wrong)).toThrow("--n takes a whole number");
  }
});
