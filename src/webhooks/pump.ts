// Claims, sends and settles: what one of them frees or finds, the next one uses at once.
import type { Bound } from "../platform/database/index.ts";
import type { Agenda } from "./agenda.ts";
import type { Around } from "./around.ts";
import { createAttempting } from "./attempt.ts";
import { createClaiming } from "./claiming.ts";
import { createDisabling } from "./disabling.ts";
import { settleUntried } from "./outcome.ts";
import { createPlaces } from "./places.ts";
import { createSending, type DispatcherSight } from "./sending.ts";
import { createSettling } from "./settling.ts";
import type { webhookStore } from "./store/index.ts";
import type { Settlement } from "./store/settle.ts";

/** While so much is not written, nothing more is claimed. */
const UNSETTLED_MAX = 512;

export interface PumpOptions {
  around: Around;
  store: Bound<typeof webhookStore>;
  agenda: Agenda;
}

export interface Pump {
  /** Claimed here, until what came of them is written. */
  readonly held: ReadonlySet<string>;
  /** To be called whenever there may be something to do. */
  look(): void;
  /** Nothing more begins; resolves once everything that was claimed is settled. */
  drain(): Promise<void>;
  /** What is under way is given up, as if it had not been tried. */
  breakOff(): void;
  /** What is claimed is another process' by now. */
  drop(): void;
  see(): DispatcherSight;
}

export function createPump({ around, store, agenda }: PumpOptions): Pump {
  const { settings } = around;
  const places = createPlaces(around.clock, agenda);
  const held = new Set<string>();
  const quiet = Promise.withResolvers<void>();
  let isDraining = false;

  const isOff = () => !settings().agents.webhooks;
  const look = () => {
    if (isDraining) return letGo();
    if (!isOff()) sending.begin();
    claiming.look();
  };
  /** What has not begun is given back. */
  const letGo = () => {
    for (const claimed of places.clear()) {
      settling.add(settleUntried(claimed, "released"));
    }
    const isSending = sending.see().sending > 0;
    if (!isSending && !claiming.isClaiming() && settling.count() === 0) quiet.resolve();
  };
  const disable = createDisabling({ around, store });
  const noteSettled = (one: Settlement) => {
    const { webhook_id } = one;
    held.delete(one.delivery_id);
    if ("next_attempt_at" in one) agenda.expect({ webhook_id, lane: 1 }, one.next_attempt_at);
    // What was given back may be due as it was.
    if (one.came_to === "released") agenda.recall(webhook_id);
  };
  const settling = createSettling({
    ...{ around, store },
    onSettled(group, hopeless) {
      group.forEach(noteSettled);
      hopeless.forEach(disable);
      const ending = new Set(hopeless.map(({ webhook_id }) => webhook_id));
      for (const { came_to, webhook_id } of group) {
        // It is not disabled for that: it has been changed or enabled again meanwhile.
        if (came_to === "gone" && !ending.has(webhook_id)) agenda.wake(webhook_id);
      }
      look();
    },
  });
  const sending = createSending({
    ...{ places, attempt: createAttempting({ around, store }) },
    onOver({ settlement, is_standstill }) {
      if (is_standstill) agenda.rest(settlement.webhook_id);
      settling.add(settlement);
      look();
    },
    onBug: (error) => around.log.error("the sending of a webhook broke off", { error }),
  });
  const claiming = createClaiming({
    ...{ around, store, places, soonest: agenda.soonest },
    isHalted: () => isDraining || isOff() || settling.count() > UNSETTLED_MAX,
    onGiven(claimed) {
      for (const { id } of claimed) held.add(id);
    },
    onClaimed: look,
  });

  return {
    held,
    look,
    drain() {
      isDraining = true;
      claiming.stop();
      look();
      return quiet.promise;
    },
    breakOff: sending.breakOff,
    drop() {
      places.clear();
      sending.breakOff();
      held.clear();
    },
    see: sending.see,
  };
}
