// Ends of requests of several accounts, one of which cannot be written.
import { expect, test } from "bun:test";
import { SharedUse, type SharedUseOptions } from "../../../src/gateway/budgets/shared-use.ts";
import { yieldToEventLoop } from "../../../src/platform/clock.ts";

const PERIOD = { start: 0, end: 60_000 };
const USES = { minute: PERIOD, day: PERIOD, month: PERIOD };

test("a failure of one account is told once the others are written", async () => {
  const others = Promise.withResolvers<void>();
  const store = {
    reserveWithin: async () => ({ isReserved: true, roots: [] }),
    async settleWithin(root: string) {
      if (root === "a-1") throw new Error("the row is locked");
      await others.promise;
      return [];
    },
  };
  const process = { epoch: 1, join() {} };
  const shared = new SharedUse({ store, process } as unknown as SharedUseOptions);
  const written: string[] = [];
  const reserve = (root: string) => {
    const found = [{ subject: { name: `account ${root}` }, uses: USES }];
    const request = { root, found, onWritten: () => void written.push(root) };
    return shared.reserve({ id: `of ${root}` } as never, request as never);
  };
  expect([await reserve("a-1"), await reserve("a-2")]).toEqual([true, true]);
  const ended = ["of a-1", "of a-2"].map((id) => ({ id }));
  let failure: Error | undefined;
  const settling = shared.settle(ended as never, []).catch((error) => {
    failure = error;
  });
  for (let turns = 0; turns < 5; turns++) await yieldToEventLoop();
  expect(failure).toBeUndefined();
  others.resolve();
  await settling;
  expect([failure?.message, written]).toEqual(["the row is locked", ["a-2"]]);
});
