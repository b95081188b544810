// The dispatcher: gives events to the endpoints that selected them, and sends them until they are
// taken.
import { endsWithin } from "../platform/clock.ts";
import type { Bound } from "../platform/database/index.ts";
import type { Service } from "../platform/service.ts";
import { createAgenda } from "./agenda.ts";
import type { Around } from "./around.ts";
import { createGiving } from "./giving.ts";
import { createListing } from "./listing.ts";
import { createPump } from "./pump.ts";
import type { DispatcherSight } from "./sending.ts";
import type { webhookStore } from "./store/index.ts";
import { createTakingUp } from "./taking-up.ts";

/** What was broken off has this long to be given back. */
const GRACE_MS = 1_000;

export interface DispatcherOptions {
  around: Around;
  store: Bound<typeof webhookStore>;
}

export interface Dispatcher extends Service {
  /** Other settings hold: webhooks may have been switched on. */
  change(): void;
  look(): DispatcherSight;
}

export function createDispatcher({ around, store }: DispatcherOptions): Dispatcher {
  const { clock, database, process } = around;
  const agenda = createAgenda(clock);
  const pump = createPump({ around, store, agenda });
  const listing = createListing({ around, store, agenda, onListed: pump.look });
  const giving = createGiving({ around, store });
  const undo: (() => void)[] = [];

  process.join({
    takeUp: createTakingUp({
      ...{ around, store, held: pump.held },
      onReleased: (place) => agenda.expect(place, Number.NEGATIVE_INFINITY),
    }),
    onLost: pump.drop,
    onSign() {
      listing.lookAgain();
      pump.look();
    },
  });
  const listen = (channel: string, tell: (id: string) => void) =>
    database.listen(channel, (id) => {
      if (id === null) return listing.look();
      tell(id);
      pump.look();
    });

  return {
    name: "webhooks",
    start() {
      undo.push(listen("webhooks.due", agenda.tell), listen("webhooks.endpoint", agenda.wake));
      giving.start();
      listing.look();
    },
    async stop(deadline_ms) {
      for (const step of undo.splice(0)) step();
      listing.stop();
      const over = Promise.all([giving.stop(), pump.drain()]).then(() => undefined);
      if (await endsWithin(clock, deadline_ms, over)) return;
      pump.breakOff();
      await endsWithin(clock, GRACE_MS, over);
    },
    change: pump.look,
    look: pump.see,
  };
}
