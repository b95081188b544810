// Claims deliveries for the places that are free, and a few ahead; one claim at a time.
import type { Cancel } from "../platform/clock.ts";
import type { Bound } from "../platform/database/index.ts";
import type { Around } from "./around.ts";
import type { Places } from "./places.ts";
import type { Claimed } from "./store/claim.ts";
import type { webhookStore } from "./store/index.ts";

/** A claim that failed is tried again. */
const AGAIN_MS = 1_000;
/** What is due later than that is looked for again by then. */
const WAIT_MAX_MS = 60_000;
/** Two looks by the clock are at least so far apart. */
const WAIT_MIN_MS = 100;

export interface ClaimingOptions {
  around: Pick<Around, "clock" | "log" | "process">;
  store: Pick<Bound<typeof webhookStore>, "claim">;
  places: Places;
  /** When something is due next, by the wall clock. */
  soonest(): number;
  /** Nothing is to be claimed for now. */
  isHalted(): boolean;
  onGiven(claimed: readonly Claimed[]): void;
  /** A claim has ended, whatever came of it. */
  onClaimed(): void;
}

export interface Claiming {
  /** To be called whenever something may be due, or a place may be free. */
  look(): void;
  isClaiming(): boolean;
  stop(): void;
}

export function createClaiming(options: ClaimingOptions): Claiming {
  const { around, store, places, isHalted, onGiven, onClaimed } = options;
  const { clock, log, process } = around;
  let isClaiming = false;
  let isResting = false;
  let timer: { at: number; cancel: Cancel } | null = null;

  const claim = async (turns: ReturnType<Places["plan"]>) => {
    const { epoch } = process;
    try {
      const taken = await store.claim(epoch, turns, clock.now());
      // Others may have found this process dead meanwhile: what it was given is no longer its own.
      if (epoch === process.epoch) {
        onGiven(taken.flatMap(({ rows }) => rows));
        places.give(turns, taken);
      } else places.forgo(turns);
    } catch (error) {
      log.error("webhooks that wait could not be claimed", { error });
      places.forgo(turns);
      rest();
    }
    isClaiming = false;
    onClaimed();
  };
  const rest = () => {
    isResting = true;
    clock.after(AGAIN_MS, () => {
      isResting = false;
      look();
    });
  };
  /** For what is due later. */
  const setTimer = () => {
    const at = options.soonest();
    if (at === timer?.at) return;
    timer?.cancel();
    timer = null;
    if (at === Number.POSITIVE_INFINITY) return;
    const wait_ms = Math.max(WAIT_MIN_MS, Math.min(at - clock.now(), WAIT_MAX_MS));
    const cancel = clock.after(wait_ms, () => {
      timer = null;
      look();
    });
    timer = { at, cancel };
  };
  const look = () => {
    if (isClaiming || isResting || isHalted()) return;
    const turns = places.plan();
    setTimer();
    if (turns.length === 0) return;
    isClaiming = true;
    claim(turns).catch((error) => log.error("what follows a claim broke off", { error }));
  };
  return {
    look,
    isClaiming: () => isClaiming,
    stop: () => timer?.cancel(),
  };
}
