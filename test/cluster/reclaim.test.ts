// Tests which claimed rows are released, and when.
import { expect, test } from "bun:test";
import { type ClaimedRow, Reclaimer } from "../../src/cluster/reclaim.ts";

const OWN = 7;
const DEAD = 3;

/** Rows that processes have claimed; `inHand` are those of this process. */
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

test("rows of a dead process are released at once, those of living ones stay", async () => {
  const { reclaim } = createTrial(
    [],
    [
      { id: "d-1", epoch: DEAD },
      { id: "d-2", epoch: 4 },
    ],
  );
  expect(await reclaim()).toEqual([["d-1"]]);
});

test("a process releases its own row that it did not work on in two passes in a row", async () => {
  const rows = ["d-1", "d-2", "d-3"].map((id) => ({ id, epoch: OWN }));
  const { reclaim, known } = createTrial(["d-1"], rows);
  expect(await reclaim()).toEqual([]);
  // Its claim has just been made.
  known.add("d-2");
  expect(await reclaim()).toEqual([["d-3"]]);
  // It has just been finished.
  known.delete("d-1");
  expect(await reclaim()).toEqual([["d-3"]]);
  expect(await reclaim()).toEqual([["d-1", "d-3"]]);
});

test("many rows are released in several writes", async () => {
  const rows = Array.from({ length: 501 }, (_, n) => ({ id: `d-${n}`, epoch: DEAD }));
  const { reclaim } = createTrial([], rows);
  const writes = await reclaim();
  expect(writes.map((group) => group.length)).toEqual([250, 250, 1]);
  expect(writes.flat()).toEqual(rows.map(({ id }) => id));
});
