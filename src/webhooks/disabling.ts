// Disables endpoints to which nothing more is to be sent.
import type { Bound } from "../platform/database/index.ts";
import type { Around } from "./around.ts";
import { createFans, giveFirst } from "./fanning.ts";
import type { webhookStore } from "./store/index.ts";
import type { Hopeless } from "./store/settle.ts";

/** Of what nobody did by hand its operator learns here. */
const SAID = {
  gone: "a webhook endpoint was disabled: it answered 410",
  failing: "a webhook endpoint was disabled: for five days nothing has arrived",
} as const;

export interface DisablingOptions {
  around: Pick<Around, "clock" | "ids" | "log" | "settings">;
  store: Pick<Bound<typeof webhookStore>, "disable">;
}

export function createDisabling({ around, store }: DisablingOptions) {
  const { log } = around;
  const makeFan = createFans(around);
  return async (hopeless: Hopeless): Promise<void> => {
    const { webhook_id, reason } = hopeless;
    try {
      const isDisabled = await giveFirst(() => store.disable(hopeless, makeFan()));
      if (isDisabled) log.warn(SAID[reason], { webhook_id });
    } catch (error) {
      // Its next failure says so again.
      log.error("a webhook endpoint could not be disabled", { error, webhook_id });
    }
  };
}
