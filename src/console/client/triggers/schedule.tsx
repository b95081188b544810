// When a trigger fires: its next times in two zones, or the request that fires it.
import { writeInZone, ZONE } from "../format.ts";
import { CodeBlock } from "../json.tsx";
import { copyText, Icon } from "../parts.tsx";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import type { OpenedTriggerRow } from "./data.ts";

function Upcoming({ trigger }: { trigger: OpenedTriggerRow }) {
  const { upcoming, cron } = trigger;
  const zone = trigger.time_zone ?? "UTC";
  return (
    <>
      <section>
        <h3>{t("triggers.schedule")}</h3>
        <p>
          <code class="ltr">{cron}</code> <span class="dim">{zone}</span>
        </p>
      </section>
      <section>
        <h3>{t("triggers.next")}</h3>
        {upcoming.length === 0 && <p class="soft">{t("triggers.next.none")}</p>}
        <ol class="times">
          {upcoming.map((at) => (
            <li key={at}>
              <b>{writeInZone(at, zone)}</b>
              <span class="dim">
                <When at={at} />
              </span>
              {zone !== ZONE && (
                <span class="dim here">{t("triggers.here", writeInZone(at, ZONE), ZONE)}</span>
              )}
            </li>
          ))}
        </ol>
        {upcoming.length > 0 && <p class="dim">{t("triggers.zone", zone)}</p>}
      </section>
    </>
  );
}

/** A command for a POSIX shell that signs as Standard Webhooks; the secret is a variable. */
function writeSignedCurl(url: string): string {
  return [
    `ID=msg_$(date +%s) AT=$(date +%s) BODY='{"hello":"world"}'`,
    `KEY=$(printf %s "\${SECRET#whsec_}" | base64 -d | od -An -vtx1 | tr -d ' \\n')`,
    `SIGNED=$(printf %s "$ID.$AT.$BODY" |`,
    `  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | base64)`,
    `curl '${url}' -H 'content-type: application/json' \\`,
    `  -H "webhook-id: $ID" -H "webhook-timestamp: $AT" \\`,
    `  -H "webhook-signature: v1,$SIGNED" -d "$BODY"`,
  ].join("\n");
}

function Address({ path }: { path: string }) {
  const url = `${location.origin}${path}`;
  return (
    <>
      <section>
        <h3>{t("triggers.address")}</h3>
        <p class="row">
          <code class="ltr">{url}</code>
          <button
            class="b quiet"
            type="button"
            aria-label={t("code.copy", t("triggers.address"))}
            onClick={() => copyText(url)}
          >
            <Icon id="i-copy" size={14} />
          </button>
        </p>
      </section>
      <section>
        <h3>{t("triggers.curl")}</h3>
        <CodeBlock text={writeSignedCurl(url)} label={t("triggers.curl")} />
        <p class="dim">{t("triggers.curl.says")}</p>
      </section>
    </>
  );
}

export function Schedule({ trigger }: { trigger: OpenedTriggerRow }) {
  const { hook_path, input } = trigger;
  return (
    <section class="detail" aria-label={t("triggers.timing")}>
      {hook_path ? <Address path={hook_path} /> : <Upcoming trigger={trigger} />}
      <section>
        <h3>{t("triggers.message")}</h3>
        {input ? (
          <CodeBlock text={input.message} label={t("triggers.message")} />
        ) : (
          <p class="soft">{t("triggers.message.none")}</p>
        )}
      </section>
    </section>
  );
}
