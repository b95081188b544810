// Wires the triggers module: routes on the agent service, background services and sweeps.
import type { RateLimiter } from "../access/index.ts";
import type { Router } from "../http/index.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Service } from "../platform/service.ts";
import { type Sweep, sweepRows } from "../retention/index.ts";
import type { Settings } from "../settings/index.ts";
import { watchArchivedAgents } from "./archived-agents.ts";
import type { TriggersDeps } from "./deps.ts";
import { OUTCOMES } from "./fire.ts";
import { createFireRun, type FireCounts } from "./fire-run.ts";
import { openHook } from "./hook.ts";
import { openTriggerRoutes } from "./routes.ts";
import { Scheduler } from "./scheduler.ts";
import { triggerStore } from "./store/index.ts";
import { Triggers } from "./triggers.ts";

export interface TriggersModule {
  /** Started before the server listens, so that they stop after it. */
  services: readonly Service[];
  limiters: Readonly<Record<string, RateLimiter>>;
  show(metrics: Metrics): void;
}

/** agents.does.trigger */
export function createTriggersModule(router: Router, deps: TriggersDeps): TriggersModule {
  const { database, access, prepareRun, clock, ids } = deps;
  const { findCaller } = access;
  const store = database.bind(triggerStore);
  const fires = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as FireCounts;
  const fire = createFireRun({ triggers: store, findCaller, prepareRun, clock, ids, fires });
  const triggers = new Triggers(deps);
  openTriggerRoutes(router, triggers, fire, deps);
  const hooks = openHook(router, fire, deps);
  return {
    services: [watchArchivedAgents(deps), new Scheduler({ ...deps, fire })],
    limiters: { hooks },
    show: (metrics) => showFires(metrics, fires),
  };
}

function showFires(metrics: Metrics, fires: Readonly<FireCounts>): void {
  metrics.total(
    {
      name: "wadi_trigger_fires_total",
      help: `Fires of triggers by outcome: ${OUTCOMES.join(", ")}.`,
      labels: ["outcome"],
    },
    (set) => {
      for (const outcome of OUTCOMES) set(fires[outcome], { outcome });
    },
  );
}

/** agents.endpoints.triggers.p6: minimum time for which a `webhook-id` is known. */
const FIRES_KEPT_MS = 30 * 86_400_000;

export function createFireSweeps({
  database,
  settings,
}: Pick<TriggersDeps, "database"> & { settings(): Pick<Settings, "retention"> }): Sweep[] {
  const triggers = database.bind(triggerStore);
  return [
    {
      what: "fires",
      async run(now, isStopping) {
        const { events } = settings().retention;
        if (events === null) return 0;
        const until = now - Math.max(events, FIRES_KEPT_MS);
        return sweepRows(isStopping, (limit) => triggers.sweepFires(until, limit));
      },
    },
  ];
}
