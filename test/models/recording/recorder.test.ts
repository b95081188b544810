// Tests which completions are recorded, and that their receiver is not affected.
import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  Chunk,
  Complete,
  Completion,
  ModelRequest,
} from "../../../src/models/providers/contract.ts";
import { openRecorder, record } from "../../../src/models/recording/recorder.ts";
import { wait } from "../../../src/platform/clock.ts";
import { createAsk } from "../../support/ask.ts";
import { createManualClock } from "../../support/clock.ts";

const USAGE = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const GOOD: Completion = { ok: true, finishReason: "stop", usage: USAGE, attempts: 2 };
const BROKEN: Completion = {
  ok: false,
  code: "upstream_error",
  retryable: true,
  reason: "it broke",
};
const LEFT: Completion = {
  ok: false,
  code: "client_closed_request",
  retryable: false,
  reason: "left",
};
const text = (said: string): Chunk => ({ kind: "text", text: said });

/** A recorder around a provider. */
function start(build: (clock: ReturnType<typeof createManualClock>) => Complete) {
  const clock = createManualClock();
  const kept: unknown[] = [];
  const tooLarge: ModelRequest[] = [];
  const answer = record(build(clock), {
    clock,
    keep: (received) => kept.push(received),
    onTooLarge: (ask) => tooLarge.push(ask),
  });
  return { clock, kept, tooLarge, answer, caller: new AbortController() };
}
/** Sends a chunk at each of these times, and completes after the last one. */
const tell =
  (pieces: [at_ms: number, said: string][], ending: Completion) =>
  (clock: ReturnType<typeof createManualClock>): Complete =>
  async (_, onChunk) => {
    for (const [at_ms, said] of pieces) {
      await wait(clock, at_ms - clock.monotonic());
      await onChunk(text(said));
    }
    await wait(clock, 5);
    return ending;
  };

test("chunks are stored with their time since the request, and so is the completion", async () => {
  for (const ending of [GOOD, BROKEN]) {
    const pieces: [number, string][] = [
      [100, "a"],
      [100.0625, "b"],
      [230, "c"],
    ];
    const { clock, kept, answer, caller } = start(tell(pieces, ending));
    const ask = createAsk("Hello");
    const received: Chunk[] = [];
    const told = answer(ask, (piece) => void received.push(piece), caller.signal);
    await clock.advance(1_000);
    expect(await told).toBe(ending);
    expect(received).toEqual([text("a"), text("b"), text("c")]);
    expect(kept).toEqual([
      {
        request: ask,
        told: [
          { at_ms: 100, piece: text("a") },
          { at_ms: 100.063, piece: text("b") },
          { at_ms: 230, piece: text("c") },
        ],
        ended_ms: 235,
        completion: ending,
      },
    ]);
  }
});

test("a pending onChunk holds the server back", async () => {
  const { clock, answer, caller } = start(
    tell(
      [
        [0, "a"],
        [0, "b"],
      ],
      GOOD,
    ),
  );
  const received: Chunk[] = [];
  const free = Promise.withResolvers<void>();
  const onChunk = (piece: Chunk) => {
    received.push(piece);
    return free.promise;
  };
  const told = answer(createAsk("Hello"), onChunk, caller.signal);
  await clock.advance(50);
  expect(received).toHaveLength(1);
  free.resolve();
  await clock.advance(50);
  expect(received).toHaveLength(2);
  expect(await told).toBe(GOOD);
});

test("a request whose caller left is not stored, whatever its result", async () => {
  for (const ending of [LEFT, BROKEN]) {
    const { clock, kept, answer, caller } = start(tell([[0, "a"]], ending));
    const told = answer(createAsk("Hello"), () => caller.abort(), caller.signal);
    await clock.advance(50);
    expect(await told).toBe(ending);
    expect(kept).toEqual([]);
  }
});

test("a request whose caller stopped reading is not stored either", async () => {
  const { clock, kept, answer, caller } = start(tell([[0, "a"]], LEFT));
  const told = answer(createAsk("Hello"), () => undefined, caller.signal);
  await clock.advance(50);
  await told;
  expect(kept).toEqual([]);
});

test("a thrown error is passed on, and not stored", async () => {
  const { kept, answer, caller } = start(() => async () => {
    throw new Error("a bug");
  });
  const told = answer(createAsk("Hello"), () => undefined, caller.signal);
  await expect(told).rejects.toThrow("a bug");
  expect(kept).toEqual([]);
});

test("a reply beyond 16 MB is passed on and not stored", async () => {
  const megabyte = "x".repeat(1_048_576);
  const pieces = Array.from({ length: 17 }, (): [number, string] => [0, megabyte]);
  const { clock, kept, tooLarge, answer, caller } = start(tell(pieces, GOOD));
  let received = 0;
  const ask = createAsk("Hello");
  const told = answer(ask, () => void received++, caller.signal);
  await clock.advance(50);
  expect(await told).toBe(GOOD);
  expect({ received, kept, tooLarge }).toEqual({ received: 17, kept: [], tooLarge: [ask] });
});

test("a reply of 16 MB is stored, one of a byte more is not", async () => {
  const size = 16 * 1_048_576 - 64;
  for (const [more, count] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const pieces: [number, string][] = [[0, "x".repeat(size + more)]];
    const { clock, kept, tooLarge, answer, caller } = start(tell(pieces, GOOD));
    const told = answer(createAsk("Hello"), () => undefined, caller.signal);
    await clock.advance(50);
    await told;
    expect([kept.length, tooLarge.length]).toEqual([count, 1 - count]);
    if (count === 1) expect(kept).toMatchObject([{ told: [{ at_ms: 0 }] }]);
  }
});

test("the times of a reply begin with its request, which may end well for one who left", async () => {
  const { clock, kept, answer, caller } = start((its) => async (_, onChunk) => {
    await wait(its, 7);
    await onChunk(text("a"));
    caller.abort();
    return GOOD;
  });
  await clock.advance(1_000);
  const told = answer(createAsk("Hello"), () => undefined, caller.signal);
  await clock.advance(50);
  await told;
  expect(kept).toMatchObject([{ told: [{ at_ms: 7 }], ended_ms: 7 }]);
});

test("a reply of too many empty chunks is not stored either", async () => {
  const pieces = Array.from({ length: 262_145 }, (): [number, string] => [0, ""]);
  const { clock, kept, tooLarge, answer, caller } = start(tell(pieces, GOOD));
  const ask = createAsk("Hello");
  const told = answer(ask, () => undefined, caller.signal);
  await clock.advance(50);
  expect(await told).toBe(GOOD);
  expect([kept, tooLarge]).toEqual([[], [ask]]);
});

test("a recording overwrites no file, and says why it cannot be made", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-recorder-"));
  const file = join(directory, "file");
  writeFileSync(file, "mine");
  const clock = createManualClock();
  await expect(openRecorder(file, clock)).rejects.toThrow(`${file} is there already`);
  await expect(openRecorder(join(file, "x"), clock)).rejects.toThrow("cannot be made (ENOTDIR)");
  expect(readFileSync(file, "utf8")).toBe("mine");
  rmSync(directory, { recursive: true });
});
