// What commands send of the options by which runs are started and found.
import { expect, test } from "bun:test";
import { UsageError } from "../../src/cli/command.ts";
import { runServed } from "./served-command.ts";

const AGENT = "0198f000-0000-7000-8000-000000000001";

/** The query and the body that a command sends to a server, which takes neither. */
async function send(name: string, args: readonly string[]) {
  let sent: { query: Record<string, string>; body: unknown } | undefined;
  const answer = (_: string, { searchParams }: URL, body: unknown) => {
    sent = { query: Object.fromEntries(searchParams), body };
    return "no reply of such an operation";
  };
  const failure = await runServed(name, args, { answer }).catch((error) => error);
  if (failure instanceof UsageError) throw failure;
  return sent!;
}

const pairs = ["--metadata", "ticket=A-17", "--metadata", "a=b=c & d", "--metadata", "none="];

test("texts of metadata are sent by their names, of which the first = is the end", async () => {
  const list = await send("runs list", pairs);
  expect(list.query).toEqual({
    ...{ "metadata[ticket]": "A-17", "metadata[a]": "b=c & d", "metadata[none]": "" },
    limit: "20",
  });
  expect((await send("runs count", ["--metadata", "x=1"])).query).toEqual({ "metadata[x]": "1" });
  expect((await send("runs start", [AGENT, "Hello", ...pairs])).body).toEqual({
    ...{ message: "Hello", metadata: { ticket: "A-17", a: "b=c & d", none: "" } },
  });
  expect((await send("runs start", [AGENT, "Hello"])).body).toEqual({ message: "Hello" });
});

test("metadata without a name or a text, and a name that comes twice, are refused", async () => {
  for (const [typed, says] of [
    ["ticket", '--metadata takes NAME=TEXT, but is "ticket"'],
    ["=A-17", '--metadata takes NAME=TEXT, but is "=A-17"'],
  ] as const) {
    await expect(send("runs list", ["--metadata", typed])).rejects.toThrow(says);
  }
  const twice = [AGENT, "Hello", "--metadata", "a=1", "--metadata", "a=2"];
  await expect(send("runs start", twice)).rejects.toThrow('--metadata has "a" twice');
});
