// Triggers: what starts agents' runs by itself, on a schedule or on a signed request.

export { Fire } from "./fire.ts";
export { createFireSweeps, createTriggersModule } from "./module.ts";
export { createTriggerActs } from "./operator-acts.ts";
export { FireMark } from "./store/lookup.ts";
export { Trigger, TriggerName } from "./trigger.ts";
export { createTriggerQueries } from "./triggers.ts";
