// Who gives back what nobody sends any more, and when.
import { expect, test } from "bun:test";
import type { Held } from "../../src/webhooks/store/claim.ts";
import { createTakingUp } from "../../src/webhooks/taking-up.ts";

const OWN = 7;

/** Deliveries that processes have, of which one is dead. */
function open(held: readonly string[], rows: readonly Held[]) {
  const released: Held[] = [];
  const known = new Set(held);
  const takeUp = createTakingUp({
    around: { process: { epoch: OWN } as never },
    held: known,
    store: {
      listHeld: async () => [...rows],
      async release(given) {
        released.push(...given);
        return [];
      },
    },
    onReleased: () => undefined,
  });
  return {
    known,
    look: async () => {
      await takeUp((epoch) => epoch === 3);
      return released.splice(0).map(({ id }) => id);
    },
  };
}

test("what a dead process has is given back at once, and what others have is left", async () => {
  const { look } = open(
    [],
    [
      { id: "d-1", epoch: 3 },
      { id: "d-2", epoch: 4 },
    ],
  );
  expect(await look()).toEqual(["d-1"]);
});

test("of its own a process gives back what it does not know of at two looks", async () => {
  const rows = ["d-1", "d-2", "d-3"].map((id) => ({ id, epoch: OWN }));
  const { look, known } = open(["d-1"], rows);
  expect(await look()).toEqual([]);
  // It had just been claimed.
  known.add("d-2");
  expect(await look()).toEqual(["d-3"]);
  // It was over in between: that it is unknown is news.
  known.delete("d-1");
  expect(await look()).toEqual(["d-3"]);
  expect(await look()).toEqual(["d-1", "d-3"]);
});
