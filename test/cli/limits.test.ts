// Tests how limits are typed: counts with units, money, and none.
import { expect, test } from "bun:test";
import { readArguments } from "../../src/cli/arguments.ts";
import { UsageError } from "../../src/cli/command.ts";
import { loadAllCommands } from "../../src/cli/families.ts";
import { printLimits, readLimitChange } from "../../src/cli/limits.ts";
import { createOutput } from "../../src/cli/output.ts";

const command = (await loadAllCommands()).find(({ name }) => name === "accounts limit")!;
const read = async (line: string) =>
  readLimitChange(await readArguments(command, ["acme", ...line.split(" ").filter(Boolean)]));

test("counts have units, money is text, and none removes a limit", async () => {
  expect(
    await read("--tokens-day 2M --tokens-month 1.25G --requests-minute 60 --requests-day 1.5k"),
  ).toEqual({
    ...{ tokens_day: 2_000_000, tokens_month: 1_250_000_000 },
    ...{ requests_minute: 60, requests_day: 1_500 },
  });
  expect(await read("--cost-month 500 --cost-day 0.000001 --cost-minute none")).toEqual({
    ...{ cost_month: "500", cost_day: "0.000001", cost_minute: null },
  });
  expect(await read("--requests-day 0 --tokens-minute none")).toEqual({
    ...{ requests_day: 0, tokens_minute: null },
  });
  expect(await read("")).toBeUndefined();
});

test.each([
  ...["--tokens-day 2m", "--tokens-day 1.5", "--tokens-day 1.2345k", "--tokens-day -1"],
  ...["--tokens-day 1e6", "--tokens-day 999999999999999G", "--cost-month 1,5"],
  ...["--cost-month 1.0000001", "--cost-month 2M", "--requests-day all"],
])("%s is refused with a sentence", async (line) => {
  const failure = await read(line).then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(UsageError);
  const { message } = failure as UsageError;
  expect(message).toStartWith(line.split(" ")[0]!);
});

test("limits are a table for people, and their JSON for programs", () => {
  const printed: string[] = [];
  const limit = { name: "tokens_day", maximum: 9, used: 1, reserved: 0, resets_at: "then" };
  const print = (isJson: boolean, limits: object[]) => {
    const output = createOutput(
      isJson,
      (text) => printed.push(text),
      () => {},
    );
    return printLimits(output, { limits: limits as never });
  };
  print(false, [limit]);
  print(true, [limit]);
  print(false, []);
  expect(printed).toEqual([
    "NAME        MAXIMUM  USED  RESERVED  RESETS_AT\ntokens_day  9        1     0         then\n",
    `${JSON.stringify({ limits: [limit] })}\n`,
    "no limits\n",
  ]);
});
