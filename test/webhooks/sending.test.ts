// What is claimed is sent, also beside a delivery that breaks off by a bug.
import { expect, test } from "bun:test";
import type { Seat } from "../../src/webhooks/places.ts";
import { createSending } from "../../src/webhooks/sending.ts";

test("a bug behind one delivery is told, and the others are sent", async () => {
  const bug = new Error("bug 7");
  const bugs: unknown[] = [];
  const over: string[] = [];
  const waiting = ["d-1", "d-2", "d-3"].map((id) => ({ claimed: { id } }) as Seat);
  const all = Promise.withResolvers<void>();
  const sending = createSending({
    places: { take: () => waiting.shift() ?? null, leave() {} } as never,
    attempt: async ({ id }) => ({ settlement: id, end: "delivered", duration_ms: 1 }) as never,
    onOver({ settlement }) {
      over.push(String(settlement));
      if (over.length === 3) all.resolve();
      if (over.length === 2) throw bug;
    },
    onBug: (error) => bugs.push(error),
  });
  sending.begin();
  await all.promise;
  expect([over, bugs]).toEqual([["d-1", "d-2", "d-3"], [bug]]);
  expect(sending.see()).toMatchObject({ sending: 0, attempts: { delivered: 3 } });
});
