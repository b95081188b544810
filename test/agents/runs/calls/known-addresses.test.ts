// Known addresses of a thread: the user's input and external content.
import { expect, test } from "bun:test";
import {
  recallAddresses,
  rememberResult,
} from "../../../../src/agents/runs/calls/known-addresses.ts";
import { listAsks } from "../../../../src/agents/runs/run.ts";
import type { StoredRunLog } from "../../../../src/agents/runs/state.ts";
import type { Message } from "../../../../src/agents/threads/thread.ts";
import { BEGIN, makeRun } from "../../../support/runs.ts";

const version = { tools: ["read_page"] } as unknown as StoredRunLog["version"];

const recall = (input: { message: string; hook?: unknown }, own: boolean) => {
  const row = makeRun(own ? "r-1" : "r-2", own ? { input } : {});
  const messages = listAsks(input).map(({ content, external }, at): Message => {
    return {
      ...{ id: `m-${at}`, thread_id: "thread of r-1", run_id: "r-1", seq: at + 1, role: "user" },
      ...{
        content,
        tool_calls: null,
        parts: null,
        tool_call_id: null,
        external,
        created_at: BEGIN,
      },
    };
  });
  return recallAddresses({ version, row }, messages)!;
};

test.each([
  ["of this run", true],
  ["of an earlier run", false],
])("a hook's body %s is external content: only a complete address counts", async (_, own) => {
  const known = recall(
    { message: "Read user.example.com/a.", hook: "https://whole.example.com/b bare.example.com/c" },
    own,
  );
  const of = (url: string) => known.has(url);
  expect(await of("https://user.example.com/a")).toBe(true);
  expect(await of("https://whole.example.com/b")).toBe(true);
  expect(await of("https://bare.example.com/c")).toBe(false);
});

test("an output that an earlier run read again brings no address: a tool may have repeated the model's", async () => {
  const made = "https://made.example.com/?told=secret";
  const found = "https://found.example.com/a";
  const rest = { thread_id: "thread of r-1", run_id: "r-1", created_at: BEGIN };
  const tell = (seq: number, name: string, args: object, content: string): Message[] => [
    {
      ...{
        ...rest,
        id: `m-${seq}`,
        seq,
        role: "assistant",
        content: null,
        parts: null,
        external: false,
      },
      ...{ tool_calls: [{ id: `c-${seq}`, name, arguments: JSON.stringify(args) }] },
      tool_call_id: null,
    },
    {
      ...{ ...rest, id: `m-${seq + 1}`, seq: seq + 1, role: "tool", content, external: true },
      ...{ tool_calls: null, parts: null, tool_call_id: `c-${seq}` },
    },
  ];
  const messages = [
    ...tell(1, "repeat", { text: made }, `You said ${made}, and I say ${found}`),
    ...tell(5, "memory_get", { key: "k" }, "A note of https://note.example.com/a"),
    ...tell(3, "read_output", { tool_call_id: "c-1" }, `You said ${made}, and I say ${found}`),
  ];
  const known = recallAddresses({ version, row: makeRun("r-2") }, messages)!;
  expect([await known.has(made), await known.has(found)]).toEqual([false, true]);
  // The model writes notes itself.
  expect(await known.has("https://note.example.com/a")).toBe(false);
});

/** Tells whether the run may open an address of the text, which is the result of its call. */
function remember(result: { name: string; outcome?: string; external?: boolean }, read = "") {
  const url = "https://made.example.com/?told=secret";
  const knownAddresses = recall({ message: "Hello" }, true);
  const named = (name: string) => [`c-${name}`, { name }] as const;
  const state = {
    ...{ knownAddresses, results: new Map(["repeat", "web_search"].map(named)) },
    version: { tool_revisions: [{ name: "repeat", kind: "http" }] },
    openCalls: [{ call: { tool_call_id: "c-1", arguments: { tool_call_id: `c-${read}` } } }],
  };
  const rest = { tool_call_id: "c-1", outcome: "ok", external: false, content: `No host: ${url}` };
  rememberResult(state as never, { ...rest, ...result } as never);
  return knownAddresses.has(url);
}

test("a result of an own tool brings addresses, and an error does not: it may repeat the model's", async () => {
  expect(await remember({ name: "repeat" })).toBe(true);
  expect(await remember({ name: "repeat", outcome: "error" })).toBe(false);
  expect(await remember({ name: "repeat", outcome: "error", external: true })).toBe(true);
});

test("an output that is read again brings only addresses of a tool that repeats nothing", async () => {
  const name = "read_output";
  expect(await remember({ name, external: true }, "web_search")).toBe(true);
  expect(await remember({ name, external: true }, "repeat")).toBe(false);
});
