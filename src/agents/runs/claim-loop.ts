// Claims runs for the places that are free, for as long as somebody waits; one claim at a time.
import type { AgentsDeps } from "../deps.ts";
import type { RunSlots } from "./concurrency.ts";
import type { RunRow } from "./run.ts";
import type { ClaimQuota } from "./store/claim.ts";

/** A claim that failed is tried again. */
const CLAIM_AGAIN_MS = 1_000;

export interface ClaimLoopOptions {
  places: RunSlots;
  claim(turns: readonly ClaimQuota[]): Promise<readonly RunRow[]>;
  isDraining(): boolean;
  /** A claim has ended, whatever came of it. */
  onClaimed(): void;
}

export interface ClaimLoop {
  /** To be called whenever there may be a place, or a run for one. */
  look(): void;
  isClaiming(): boolean;
}

export function createClaimLoop(
  { clock, log }: Pick<AgentsDeps, "clock" | "log">,
  { places, claim, isDraining, onClaimed }: ClaimLoopOptions,
): ClaimLoop {
  let isClaiming = false;
  let isResting = false;
  const rest = () => {
    isResting = true;
    clock.after(CLAIM_AGAIN_MS, () => {
      isResting = false;
      look();
    });
  };
  const claimOnce = async (turns: readonly ClaimQuota[]) => {
    try {
      const claimed = new Map<string, number>();
      for (const { account_id } of await claim(turns)) {
        claimed.set(account_id, (claimed.get(account_id) ?? 0) + 1);
      }
      places.settle(turns, claimed);
    } catch (error) {
      log.error("runs could not be claimed", { error });
      rest();
    }
    isClaiming = false;
    onClaimed();
    look();
  };
  const look = () => {
    if (isClaiming || isResting || isDraining()) return;
    const turns = places.plan();
    if (turns.length === 0) return;
    isClaiming = true;
    void claimOnce(turns);
  };
  return { look, isClaiming: () => isClaiming };
}
