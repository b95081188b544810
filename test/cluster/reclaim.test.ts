// What is put back of claimed rows, and when.
import { expect, test } from "bun:test";
import { type ClaimedRow, Reclaimer } from "../../src/cluster/reclaim.ts";

const OWN = 7;
const DEAD = 3;

/** Rows that processes have claimed; `inHand` are those that this one works on. */
function createTrial(inHand: readonly string[], rows: readonly ClaimedRow[]) {
  const known = new Set(inHand);
  const writes: string[][] = [];
  const reclaimer = new Reclaimer({
    process: { epoch: OWN },
    list: async () => rows,
    isInHand: (id) => known.has(id),
    async requeue(group) {
      writes.push(group.map(({ id }) => id));
    },
  });
  return {
    known,
    reclaim: async () => {
      await reclaimer.reclaim((epoch) => epoch === DEAD);
      return writes.splice(0);
    },
  };
}

test("rows of a dead process are put back at once, those of living ones stay", async () => {
  const { reclaim } = createTrial(
    [],
    [
      { id: "d-1", epoch: DEAD },
      { id: "d-2", epoch: 4 },
    ],
  );
  expect(await reclaim()).toEqual([["d-1"]]);
});

test("a process puts back a row of its own that it did not work on at two passes in a row", async () => {
  const rows = ["d-1", "d-2", "d-3"].map((id) => ({ id, epoch: OWN }));
  const { reclaim, known } = createTrial(["d-1"], rows);
  expect(await reclaim()).toEqual([]);
  // It had just been claimed.
  known.add("d-2");
  expect(await reclaim()).toEqual([["d-3"]]);
  // It has just been finished.
  known.delete("d-1");
  expect(await reclaim()).toEqual([["d-3"]]);
  expect(await reclaim()).toEqual([["d-1", "d-3"]]);
});

test("many rows are put back in several writes", async () => {
  const rows = Array.from({ length: 501 }, (_, n) => ({ id: `d-${n}`, epoch: DEAD }));
  const { reclaim } = createTrial([], rows);
  const writes = await reclaim();
  expect(writes.map((group) => group.length)).toEqual([250, 250, 1]);
  expect(writes.flat()).toEqual(rows.map(({ id }) => id));
});
