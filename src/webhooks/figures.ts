// What Prometheus is shown of webhooks: how many are being sent, and what attempts came to.
import type { Metrics } from "../platform/metrics.ts";
import type { DispatcherSight } from "./sending.ts";
import { ATTEMPT_ENDS } from "./verdict.ts";

export function showWebhooks(metrics: Metrics, look: () => DispatcherSight): void {
  metrics.gauge(
    { name: "wadi_webhooks_sending", help: "Deliveries that this process is sending now." },
    (set) => set(look().sending),
  );
  metrics.total(
    {
      name: "wadi_webhook_attempts_total",
      help:
        "Attempts at deliveries by what they came to: delivered; rejected: another status than " +
        "2xx; timeout; unreachable: no answer.",
      labels: ["end"],
    },
    (set) => {
      const { attempts } = look();
      for (const end of ATTEMPT_ENDS) set(attempts[end], { end });
    },
  );
}
