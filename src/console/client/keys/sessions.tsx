// Sessions of operators in the console: where, since when, last seen, and their end.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, session } from "../api.ts";
import { writeCommand } from "../curl.ts";
import { Dialog } from "../dialog.tsx";
import { MINUTE_MS, shortenId, writeExact, writeSpan } from "../format.ts";
import { nameHidden } from "../hidden.ts";
import { now, useResource } from "../live.ts";
import { Empty, FailureNote, Outside, showToast } from "../parts.tsx";
import { t } from "../texts.ts";
import { CommandLine } from "./form.tsx";

interface SessionLine {
  id: string;
  operator: string;
  /** Whom a link to approvals is for; null: the operator in person. */
  person: string | null;
  is_opened: boolean;
  user_agent: string | null;
  address: string;
  created_at: string;
  last_seen_at: string;
  expires_at: string;
}

const BROWSER = /\b(Firefox|Edg|OPR|HeadlessChrome|Chrome|Version)\/(\d{1,4})/;
const SYSTEM = /\b(Windows|Android|iPhone|iPad|Mac OS X|CrOS|Linux)\b/;
const NAMES: Readonly<Record<string, string>> = {
  ...{ Edg: "Edge", OPR: "Opera", HeadlessChrome: "Chrome", Version: "Safari" },
  ...{ "Mac OS X": "macOS", CrOS: "ChromeOS" },
};

/** A browser may call itself anything: a name that is unknown is shown as it is. */
function nameBrowser(agent: string | null): string {
  if (agent === null) return t("sessions.browser.none");
  const [, browser, version] = BROWSER.exec(agent) ?? [];
  const [, system] = SYSTEM.exec(agent) ?? [];
  if (!browser || !system) return agent;
  return t("sessions.browser", `${NAMES[browser] ?? browser} ${version}`, NAMES[system] ?? system);
}

const nameHolder = ({ operator, person }: SessionLine): string =>
  person === null ? operator : t("sessions.link", person, operator);

export function Sessions() {
  const list = useResource<SessionLine[]>("/sessions", ["sessions"]);
  const { data, failure } = list.value;
  const own = useSignal<string | null>(null);
  const ending = useSignal<SessionLine | null>(null);
  useEffect(() => {
    void call<{ id: string }>("GET", "/console/session").then(
      ({ id }) => {
        own.value = id;
      },
      () => {},
    );
  }, []);
  return (
    <section aria-busy={!data && !failure}>
      {failure && <FailureNote what={t("keys.show.sessions")} failure={failure} />}
      {data?.length === 0 && <Empty text={t("sessions.empty")} command={writeCommand("console")} />}
      {data && data.length > 0 && (
        <SessionTable
          sessions={data}
          own={own.value}
          onEnd={(one) => {
            ending.value = one;
          }}
        />
      )}
      {ending.value && (
        <EndDialog
          ended={ending.value}
          isOwn={ending.value.id === own.value}
          onDone={() => list.reload()}
          onClose={() => {
            ending.value = null;
          }}
        />
      )}
    </section>
  );
}

interface SessionTableProps {
  sessions: readonly SessionLine[];
  own: string | null;
  onEnd(session: SessionLine): void;
}

function SessionTable({ sessions, own, onEnd }: SessionTableProps) {
  return (
    <table class="t stack">
      <thead>
        <tr>
          <th>{t("sessions.operator")}</th>
          <th class="w">{t("sessions.where")}</th>
          <th class="n p2">{t("sessions.since")}</th>
          <th class="n">{t("sessions.seen")}</th>
          <th class="n p2">{t("sessions.until")}</th>
          <th>
            <span class="vh">{t("keys.column.action")}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {sessions.map((one) => {
          const where = one.is_opened ? nameBrowser(one.user_agent) : t("sessions.unopened");
          const sinceSeen = now.value - Date.parse(one.last_seen_at);
          return (
            <tr key={one.id}>
              <td class="a1">
                <Outside text={nameHolder(one)} />{" "}
                {one.id === own && <span class="tag good">{t("sessions.this")}</span>}
              </td>
              <td class="w cut a2" title={nameHidden(one.user_agent ?? "")}>
                <Outside text={where} /> <span class="dim ltr">{one.address}</span>
              </td>
              <td class="n p2 soft">
                <time dateTime={one.created_at} title={writeExact(one.created_at)}>
                  {t("keys.ago", writeSpan(now.value - Date.parse(one.created_at)))}
                </time>
              </td>
              <td class="n soft b2" data-label={t("sessions.seen")}>
                <time dateTime={one.last_seen_at} title={writeExact(one.last_seen_at)}>
                  {sinceSeen < MINUTE_MS ? t("keys.ago.now") : t("keys.ago", writeSpan(sinceSeen))}
                </time>
              </td>
              <td class="n p2 soft">
                <time dateTime={one.expires_at} title={writeExact(one.expires_at)}>
                  {t("keys.in", writeSpan(Date.parse(one.expires_at) - now.value))}
                </time>
              </td>
              <td class="n b1">
                <button
                  class="b quiet"
                  type="button"
                  aria-label={t("sessions.end.of", nameHolder(one), where)}
                  onClick={() => onEnd(one)}
                >
                  {t("sessions.end")}
                </button>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

interface EndDialogProps {
  ended: SessionLine;
  isOwn: boolean;
  onDone(): void;
  onClose(): void;
}

function EndDialog({ ended, isOwn, onDone, onClose }: EndDialogProps) {
  return (
    <Dialog
      title={t("sessions.end.title", nameHolder(ended))}
      verb={t("sessions.end")}
      keep={t("sessions.keep")}
      onConfirm={async () => {
        await call("DELETE", `/operator/v1/sessions/${ended.id}`);
        if (isOwn) session.value = { kind: "ended" };
        showToast({ text: t("sessions.done") });
        onDone();
      }}
      onClose={onClose}
    >
      <p class="soft">
        {t("sessions.end.says")} {isOwn && t("sessions.end.own")}
      </p>
      <CommandLine text={writeCommand("operators", "end", shortenId(ended.id))} />
    </Dialog>
  );
}
