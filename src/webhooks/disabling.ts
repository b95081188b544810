// Disables endpoints to which nothing more is to be sent.
import type { Bound } from "../platform/database/index.ts";
import type { Around } from "./around.ts";
import { createFans } from "./fanning.ts";
import type { webhookStore } from "./store/index.ts";
import type { Hopeless } from "./store/settle.ts";

export interface DisablingOptions {
  around: Pick<Around, "clock" | "ids" | "log" | "settings">;
  store: Pick<Bound<typeof webhookStore>, "disable">;
}

export function createDisabling({ around, store }: DisablingOptions) {
  const makeFan = createFans(around);
  const disable = async ({ webhook_id, reason }: Hopeless) => {
    while (!(await store.disable(webhook_id, reason, makeFan())));
  };
  return (hopeless: Hopeless): void => {
    // Where that fails, its next failure says so again.
    disable(hopeless).catch((error) => {
      around.log.error("a webhook endpoint could not be disabled", { error });
    });
  };
}
