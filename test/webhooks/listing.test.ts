// What looks at all that waits: page by page, and once more where it was asked to meanwhile.
import { expect, test } from "bun:test";
import type { Agenda } from "../../src/webhooks/agenda.ts";
import { createListing } from "../../src/webhooks/listing.ts";
import type { Waiting } from "../../src/webhooks/store/claim.ts";
import { createManualClock } from "../support/clock.ts";

const ENDPOINTS = 450;

function open() {
  const clock = createManualClock();
  const endpoints = Array.from({ length: ENDPOINTS }, (_, n) => {
    const nothing = { first_due_at: null, retry_due_at: null, first_far_at: null };
    const standing = { failing_since: null, last_success_at: null };
    return { id: `w-${1_000 + n}`, ...standing, ...nothing, retry_far_at: null };
  }) satisfies Waiting[];
  const asked: string[] = [];
  const seen: string[] = [];
  const listing = createListing({
    around: { clock, log: undefined as never },
    store: {
      async listWaiting(after, limit) {
        asked.push(after);
        return endpoints.filter(({ id }) => id > after).slice(0, limit);
      },
      pull: async () => undefined,
    },
    agenda: { see: ({ id }: Waiting) => seen.push(id) } as unknown as Agenda,
    onListed: () => undefined,
  });
  /** As many turns as it can take. */
  const settle = async () => {
    for (let turn = 0; turn < 20; turn++) await clock.advance(0);
  };
  return { settle, endpoints, asked, seen, listing };
}

test("every endpoint is looked at, however many wait", async () => {
  const { settle, endpoints, seen, listing } = open();
  listing.look();
  await settle();
  expect(seen).toEqual(endpoints.map(({ id }) => id));
});

test("what is asked for while it looks is looked at once more", async () => {
  const { settle, asked, listing } = open();
  for (let times = 0; times < 3; times++) listing.look();
  await settle();
  expect(asked.filter((after) => after === "")).toHaveLength(2);
  listing.look();
  listing.stop();
  await settle();
  expect(asked.filter((after) => after === "")).toHaveLength(3);
  expect(asked).toHaveLength(7);
});
