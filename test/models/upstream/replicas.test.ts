// Which replica is asked, and when another takes over.
import { expect, test } from "bun:test";
import type { Answer, Ending, Failure } from "../../../src/models/upstream/contract.ts";
import { joinReplicas } from "../../../src/models/upstream/replicas.ts";
import { createAsk } from "../../support/ask.ts";

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const DONE: Ending = { ok: true, finish_reason: "stop", usage: USAGE };
const fail = (why: string, elsewhere = true): Failure => ({
  ok: false,
  code: "upstream_error",
  elsewhere,
  why,
});

/** Replicas that do as they are told, and who was asked. */
function join(...replicas: Answer[]) {
  const asked: number[] = [];
  const { answer } = joinReplicas(
    replicas.map((replica, i): Answer => {
      return (...given) => {
        asked.push(i);
        return replica(...given);
      };
    }),
  );
  const heard: string[] = [];
  const caller = new AbortController();
  const ask = () =>
    answer(
      createAsk("Hello"),
      (piece) => void heard.push(piece.kind === "text" ? piece.text : ""),
      caller.signal,
    );
  return { asked, heard, caller, ask };
}

test("equals take turns", async () => {
  const { asked, ask } = join(...Array.from({ length: 3 }, () => async () => DONE));
  for (let n = 0; n < 6; n++) expect(await ask()).toEqual(DONE);
  expect(asked).toEqual([0, 1, 2, 0, 1, 2]);
});

test("the one with the fewest requests in flight is asked first", async () => {
  const waiting: ((ending: Ending) => void)[] = [];
  const slow: Answer = () => new Promise((resolve) => waiting.push(resolve));
  const { asked, ask } = join(slow, async () => DONE);
  const first = ask();
  for (let n = 0; n < 4; n++) await ask();
  expect(asked).toEqual([0, 1, 1, 1, 1]);
  waiting[0]!(DONE);
  await first;
  const again = [ask(), ask()];
  expect(asked.slice(5).sort()).toEqual([0, 1]);
  waiting[1]!(DONE);
  await Promise.all(again);
});

test("before the first piece another takes over, and the last failure is told", async () => {
  const { asked, ask } = join(
    async () => fail("refused"),
    async () => DONE,
  );
  expect(await ask()).toEqual(DONE);
  expect(asked).toEqual([0, 1]);
  const none = join(
    async () => fail("first"),
    async () => fail("second"),
  );
  expect(await none.ask()).toEqual(fail("second"));
});

test("after the first piece nobody takes over", async () => {
  const { asked, heard, ask } = join(
    async (_ask, ear) => {
      await ear({ kind: "text", text: "Hel" });
      return fail("died");
    },
    async () => DONE,
  );
  expect(await ask()).toEqual(fail("died"));
  expect([asked, heard]).toEqual([[0], ["Hel"]]);
});

test("what is the request's own fault is not tried elsewhere", async () => {
  const { asked, ask } = join(
    async () => fail("too long", false),
    async () => DONE,
  );
  expect(await ask()).toEqual(fail("too long", false));
  expect(asked).toEqual([0]);
});

test("for a caller who left nobody else is asked", async () => {
  const all = join(
    async () => {
      all.caller.abort();
      return fail("broke");
    },
    async () => DONE,
  );
  expect(await all.ask()).toEqual(fail("broke"));
  expect(all.asked).toEqual([0]);
});

test("a replica that throws is no longer in flight", async () => {
  const bug = new Error("a bug");
  const { asked, ask } = join(
    () => Promise.reject(bug),
    async () => DONE,
  );
  await expect(ask()).rejects.toBe(bug);
  await ask();
  await ask().catch(() => undefined);
  expect(asked).toEqual([0, 1, 0]);
});
