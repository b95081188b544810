// Looks from time to time at all that waits: what nobody told of is found, and what a wrong clock
// put off is brought back.
import { nextTurn } from "../platform/clock.ts";
import type { Bound } from "../platform/database/index.ts";
import type { Agenda } from "./agenda.ts";
import type { Around } from "./around.ts";
import { WAIT_MAX_MS } from "./schedule.ts";
import type { FarLane, Waiting } from "./store/claim.ts";
import type { webhookStore } from "./store/index.ts";

const ENDPOINTS_AT_ONCE = 200;
/** So far the wall clock may go another way than time does, before all is looked at anew. */
const DRIFT_MAX_MS = 1_000;
/** Nothing that is switched off or cannot be signed waits longer to be looked at again. */
const LOOK_EVERY_MS = 60_000;
/** What was not tried yet is due when it is made; clocks of several processes may differ. */
const FIRST_MAX_MS = 60_000;

export interface ListingOptions {
  around: Pick<Around, "clock" | "log">;
  store: Pick<Bound<typeof webhookStore>, "listWaiting" | "pull">;
  agenda: Agenda;
  onListed(): void;
}

export interface Listing {
  /** Looks at everything. */
  look(): void;
  /** Looks where that is due, or the clock was set. */
  lookAgain(): void;
  stop(): void;
}

export function createListing({ around, store, agenda, onListed }: ListingOptions): Listing {
  const { clock, log } = around;
  let isListing = false;
  /** Asked for while it was being done. */
  let isWanted = false;
  let isOver = false;
  let looked_at = Number.NEGATIVE_INFINITY;
  const readOffset = () => clock.now() - clock.monotonic();
  let offset = readOffset();

  const list = async () => {
    for (let after: string | undefined = ""; after !== undefined && !isOver; ) {
      const page: Waiting[] = await store.listWaiting(after, ENDPOINTS_AT_ONCE);
      for (const waiting of page) agenda.see(waiting);
      const far = page.flatMap((waiting) => listFar(waiting, clock.now()));
      if (far.length > 0) await store.pull(far, clock.now());
      for (const lane of far) agenda.expect(lane, clock.now());
      onListed();
      after = page.length < ENDPOINTS_AT_ONCE ? undefined : page.at(-1)!.id;
      await nextTurn();
    }
  };
  const look = async () => {
    isWanted = true;
    if (isListing) return;
    isListing = true;
    while (isWanted && !isOver) {
      isWanted = false;
      looked_at = clock.monotonic();
      offset = readOffset();
      try {
        await list();
      } catch (error) {
        log.error("webhooks that wait could not be listed", { error });
      }
    }
    isListing = false;
  };
  return {
    look: () => void look(),
    lookAgain() {
      const isOld = clock.monotonic() - looked_at >= LOOK_EVERY_MS;
      if (isOld || Math.abs(readOffset() - offset) > DRIFT_MAX_MS) void look();
    },
    stop() {
      isOver = true;
    },
  };
}

/** Lanes in which something is due later than a right clock can have planned. */
function listFar({ id: webhook_id, first_far_at, retry_far_at }: Waiting, now: number): FarLane[] {
  const lanes = [
    { webhook_id, lane: 0, until: now + FIRST_MAX_MS, far_at: first_far_at },
    { webhook_id, lane: 1, until: now + WAIT_MAX_MS, far_at: retry_far_at },
  ] as const;
  return lanes
    .filter(({ until, far_at }) => far_at !== null && far_at > until)
    .map(({ far_at: _, ...lane }) => lane);
}
