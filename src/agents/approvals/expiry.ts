// Lets approvals expire on time: a service that wakes when the next one is over.

import type { Bound } from "../../database/index.ts";
import { type Cancel, endsWithin } from "../../platform/clock.ts";
import type { Service } from "../../platform/service.ts";
import type { AgentsDeps } from "../deps.ts";
import type { runStore } from "../runs/store/index.ts";
import { approvalStore } from "./store.ts";

/**
 * Sooner than any approval can be over: so each is seen in time, whichever process asked for it. A
 * wall clock may be set at any time, too.
 */
const LOOK_EVERY_MS = 30_000;
const APPROVALS_A_WRITE = 100;

/** agents.does.risk.p1: decisions look at the time themselves; what nobody decides ends here. */
export function createExpiry(deps: AgentsDeps, runs: Bound<typeof runStore>): Service {
  const { database, clock, ids, log } = deps;
  const approvals = database.bind(approvalStore);
  let isStopping = false;
  let looking: Promise<void> | undefined;
  let cancel: Cancel | undefined;

  const expireAll = async () => {
    for (let overdue = APPROVALS_A_WRITE; overdue === APPROVALS_A_WRITE && !isStopping; ) {
      const found = await approvals.listOverdue(clock.now(), APPROVALS_A_WRITE);
      overdue = found.length;
      const given = found.map((approval_id) => {
        return { approval_id, step_id: ids.uuid(), event_id: ids.uuid() };
      });
      if (given.length > 0) await runs.expire(given, clock.now());
    }
  };
  const findPause = async () => {
    try {
      await expireAll();
      const next = await approvals.findNextExpiry();
      const wait_ms = next === undefined ? LOOK_EVERY_MS : next - clock.now();
      return Math.min(Math.max(wait_ms, 0), LOOK_EVERY_MS);
    } catch (error) {
      log.error("approvals could not be looked at", { error });
      return LOOK_EVERY_MS;
    }
  };
  const look = async () => {
    const pause_ms = await findPause();
    if (!isStopping) cancel = clock.after(pause_ms, begin);
  };
  const begin = () => {
    looking = look();
  };
  return {
    name: "expiry of approvals",
    start: begin,
    async stop(deadline_ms) {
      isStopping = true;
      cancel?.();
      await endsWithin(clock, deadline_ms, Promise.resolve(looking));
    },
  };
}
