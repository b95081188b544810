// Tests which ends of runs a process records as the root of their trace.
import { expect, test } from "bun:test";
import type { AgentsDeps } from "../../../src/agents/deps.ts";
import { recordRoots } from "../../../src/agents/module.ts";
import { RunTraces } from "../../../src/agents/runs/trace.ts";
import type { WakeListener } from "../../../src/database/store.ts";
import { yieldToEventLoop } from "../../../src/platform/clock.ts";
import { createLog } from "../../../src/platform/log.ts";
import type { Span } from "../../../src/platform/spans.ts";
import { createManualClock } from "../../support/clock.ts";
import { makeRun } from "../../support/runs.ts";

const LOST = "lost";

/** Listens with a tracer that records all traces but those of `unsampled`. */
function open(unsampled?: string) {
  const roots: Span["context"][] = [];
  const lines: Record<string, unknown>[] = [];
  let announce: WakeListener = () => {};
  const listen = (_: string, run: WakeListener) => {
    announce = run;
    return () => {};
  };
  const find = async (id: string) => {
    if (id === LOST) throw new Error("The database is gone.");
    return makeRun(id, { status: "succeeded" });
  };
  const traces = new RunTraces({
    ...{ hasContent: false, now: () => 0, begin: () => null },
    isSampled: (traceId) => traceId !== unsampled,
    record: ({ context }) => void roots.push(context),
  });
  const log = createLog(createManualClock(), (line) => void lines.push(JSON.parse(line)), false);
  recordRoots(traces, {
    database: { listen, bind: () => ({ find }) },
    log,
  } as unknown as AgentsDeps);
  const end = async (text: string | null, isOwn: boolean) => {
    announce(text, isOwn);
    await yieldToEventLoop();
    return roots.splice(0).map(({ traceId }) => traceId);
  };
  const wait = (id: string, decided_at: string | null) => {
    const requested_at = "2026-11-20T12:00:00.000Z";
    const about = { id: "p-1", tool: "pay", tool_call_id: "c-1", requested_at, decided_at };
    traces.recordWait({ id }, about, "approved");
    return roots.splice(0).map(({ traceId }) => traceId);
  };
  return { end, wait, lines };
}

test("the root of a run is recorded by the process that ended the run, and by no other", async () => {
  const { end } = open();
  expect(await end("succeeded r1", true)).toEqual(["r1"]);
  expect(await end("succeeded r2", false)).toEqual([]);
  expect(await end(null, true)).toEqual([]);
});

test("a run outside the recorded share has no root, and no wait", async () => {
  const { end, wait } = open("r1");
  expect([await end("failed r1", true), await end("failed r2", true)]).toEqual([[], ["r2"]]);
  const decided = "2026-11-20T12:00:09.000Z";
  expect([wait("r1", decided), wait("r2", decided), wait("r2", null)]).toEqual([[], ["r2"], []]);
});

test("a root that cannot be read is in the log", async () => {
  const { end, lines } = open();
  expect(await end(`succeeded ${LOST}`, true)).toEqual([]);
  expect(lines).toMatchObject([{ level: "error", run_id: LOST }]);
});

test("arguments and results of a call are told up to 4,096 characters, and none without content", () => {
  const record = (hasContent: boolean) => {
    const spans: Span[] = [];
    const context = { traceId: "t", spanId: "s", parentId: null };
    const traces = new RunTraces({
      ...{ hasContent, now: () => 0, begin: () => context, isSampled: () => true },
      record: (span) => void spans.push(span),
    });
    const long = "x".repeat(5_000);
    traces.recordCall({ id: "r-1" }, {
      ...{ call: { name: "pay", arguments: { long } }, result: { outcome: "ok", content: long } },
      startedAt: 0,
    } as never);
    return spans[0]!.content;
  };
  expect(record(true)).toEqual({
    "gen_ai.tool.call.arguments": `{"long":"${"x".repeat(4_087)}…`,
    "gen_ai.tool.call.result": `${"x".repeat(4_096)}…`,
  });
  expect(record(false)).toBeUndefined();
});
