// Triggers: what starts agents' runs by itself, on a schedule or on a signed request.
export { createTriggerBook, type TriggerBook } from "./book.ts";
export { Fire } from "./fire.ts";
export { openTriggers } from "./opening.ts";
export { createFireSweeps } from "./retention.ts";
export { Trigger, TriggerName } from "./trigger.ts";
export type { DescribedTrigger } from "./view.ts";
