// The keys of an account as a table; the opened one shows more below its row.

import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { Facts } from "../facts.tsx";
import { useQuery } from "../filters.tsx";
import { DAY_MS, HOUR_MS, MINUTE_MS, writeExact, writeSpan } from "../format.ts";
import { now, useResource } from "../live.ts";
import { copyText, FailureNote, Icon, Outside } from "../parts.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import { endOf, type LimitLine, type ListedKey, nameKey, type ShownKey } from "./data.ts";
import { LimitBars } from "./limits.tsx";
import { isNewKey } from "./secret.tsx";

/** Acts of a person on a key. */
export type KeyAct = "revoke" | "rotate" | "change" | "limit";

interface KeyTableProps {
  keys: readonly ListedKey[];
  /** Opened by a press, and its id in the address. */
  opened: string | undefined;
  /** Chosen by the keyboard. */
  chosen: string | null;
  onAct(act: KeyAct, key: ListedKey): void;
}

const KEYS_SHOWN = 50;
const COLUMNS_COUNT = 8;

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const writeDay = (iso: string): string => day.format(new Date(iso));

export function KeyTable({ keys, opened, chosen, onAct }: KeyTableProps) {
  const isWhole = useSignal(false);
  const shown = isWhole.value ? keys : keys.slice(0, KEYS_SHOWN);
  return (
    <>
      <table class="t keys stack">
        <thead>
          <tr>
            <th class="kw">{t("keys.column.key")}</th>
            <th class="k1">{t("keys.column.end")}</th>
            <th class="p2 k3">{t("keys.column.scopes")}</th>
            <th class="p3">{t("keys.column.models")}</th>
            <th class="n p3">{t("keys.column.cap")}</th>
            <th class="n">{t("keys.column.used")}</th>
            <th class="n p2">{t("keys.column.expires")}</th>
            <th class="k2">
              <span class="vh">{t("keys.column.action")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((key) => (
            <Fragment key={key.id}>
              <KeyRow
                subject={key}
                isOpen={key.id === opened}
                isChosen={key.id === chosen}
                onAct={onAct}
              />
              {key.id === opened && <OpenedKey subject={key} onAct={onAct} />}
            </Fragment>
          ))}
        </tbody>
      </table>
      {shown.length < keys.length && (
        <button
          class="b quiet"
          type="button"
          onClick={() => {
            isWhole.value = true;
          }}
        >
          {t("keys.more.keys", keys.length - shown.length)}
        </button>
      )}
    </>
  );
}

interface KeyRowProps {
  subject: ListedKey;
  onAct: KeyTableProps["onAct"];
}

function KeyRow({
  subject,
  isOpen,
  isChosen,
  onAct,
}: KeyRowProps & { isOpen: boolean; isChosen: boolean }) {
  const { id, name, ends_in, scopes, max_output_tokens: cap, kind } = subject;
  const [, change] = useQuery();
  const end = endOf(subject, now.value);
  return (
    <tr data-row={id} aria-selected={isChosen || isOpen} class={end === null ? "" : "past"}>
      <td class="cut a1">
        <button
          class="x cut"
          type="button"
          aria-expanded={isOpen}
          onClick={() => change({ key: isOpen ? "" : id })}
        >
          <Outside text={nameKey({ name, id })} />
        </button>{" "}
        {isNewKey(id) && <span class="tag good">{t("keys.new")}</span>}
        {kind === "internal" && <span class="tag">{t("keys.internal")}</span>}
      </td>
      <td class="id a2">{ends_in ?? "–"}</td>
      <td class="p2 soft cut" title={scopes.join(", ")}>
        {scopes.length === 0 ? <span class="dim">{t("keys.scopes.none")}</span> : scopes.join(", ")}
      </td>
      <td class="p3 soft cut">
        <Models models={subject.models} />
      </td>
      <td class="n p3">{cap === null ? <span class="dim">–</span> : writeCount(cap)}</td>
      <td class="n soft b2" data-label={t("keys.column.used")}>
        <LastUse at={subject.last_used_at} />
      </td>
      <td class="n p2 soft">{end === null && <Expiry at={subject.expires_at} />}</td>
      <td class="n b1">
        {end === null ? (
          <Acts subject={subject} onAct={onAct} />
        ) : (
          <Ended subject={subject} at={end} />
        )}
      </td>
    </tr>
  );
}

function Acts({ subject, onAct }: KeyRowProps) {
  const name = nameKey(subject);
  return (
    <span class="acts">
      <button
        class="b quiet"
        type="button"
        aria-label={t("rotate.of", name)}
        onClick={() => onAct("rotate", subject)}
      >
        {t("rotate.verb")}
      </button>
      <button
        class="b quiet"
        type="button"
        aria-label={t("revoke.of", name)}
        onClick={() => onAct("revoke", subject)}
      >
        {t("revoke.verb")}
      </button>
    </span>
  );
}

function Ended({ subject, at }: { subject: ListedKey; at: string }) {
  return (
    <time class="dim" dateTime={at} title={writeExact(at)}>
      {subject.revoked_at === null
        ? t("keys.expired", writeDay(at))
        : t("keys.revoked", writeDay(at))}
    </time>
  );
}

function Models({ models }: { models: readonly string[] | null }) {
  if (models === null) return <>{t("keys.models.every")}</>;
  const [first = "", ...rest] = models;
  const text = rest.length === 0 ? first : t("keys.models.more", first, rest.length);
  return <span title={models.join(", ")}>{text}</span>;
}

function LastUse({ at }: { at: string | null }) {
  if (at === null) return <span class="dim">{t("keys.never")}</span>;
  const span = now.value - Date.parse(at);
  return (
    <time dateTime={at} title={writeExact(at)}>
      {span < MINUTE_MS ? t("keys.ago.now") : t("keys.ago", writeSpan(span))}
    </time>
  );
}

function Expiry({ at }: { at: string | null }) {
  if (at === null) return <>{t("keys.never")}</>;
  const left = Date.parse(at) - now.value;
  // On the first of 90 days, 90 are left.
  const rounded = left < 2 * DAY_MS ? left : Math.ceil((left - HOUR_MS) / DAY_MS) * DAY_MS;
  return (
    <time dateTime={at} title={writeExact(at)}>
      {t("keys.in", writeSpan(rounded))}
    </time>
  );
}

function OpenedKey({ subject, onAct }: KeyRowProps) {
  const { id, account } = subject;
  const key = useResource<ShownKey>(`/keys/${id}`, ["keys", "runs"]).value;
  const limits = useResource<{ limits: LimitLine[] }>(`/keys/${id}/limits`, ["keys", "requests"]);
  const isOver = endOf(subject, now.value) !== null;
  const { data } = key;
  return (
    <tr class="exp">
      <td colSpan={COLUMNS_COUNT}>
        <div class="opened">
          {key.failure && <FailureNote what={nameKey(subject)} failure={key.failure} />}
          <Facts
            facts={[
              [t("key.fact.id"), <KeyId key="id" id={id} />],
              [t("key.fact.created"), <Exact key="at" at={subject.created_at} />],
              [t("keys.column.scopes"), subject.scopes.join(", ") || t("keys.scopes.none")],
              [t("keys.column.models"), subject.models?.join(", ") ?? t("keys.models.every")],
              [
                t("keys.column.expires"),
                subject.expires_at ? <Exact at={subject.expires_at} /> : t("keys.never"),
              ],
              [
                t("key.fact.work"),
                data && t("key.fact.work.says", data.active_runs, data.open_streams ?? 0),
              ],
              [
                t("key.fact.limits"),
                limits.value.data && <LimitBars limits={limits.value.data.limits} />,
              ],
            ]}
          />
          {!isOver && (
            <p class="row">
              <button class="b" type="button" onClick={() => onAct("change", subject)}>
                {t("key.change")}
              </button>
              <button class="b" type="button" onClick={() => onAct("limit", subject)}>
                {t("limits.change")}
              </button>
              {account !== null && subject.kind === "ordinary" && (
                <a class="b" href={`/console/playground?key=${id}`}>
                  {t("key.try")}
                </a>
              )}
            </p>
          )}
        </div>
      </td>
    </tr>
  );
}

const Exact = ({ at }: { at: string }) => <time class="ltr">{writeExact(at)}</time>;

function KeyId({ id }: { id: string }) {
  return (
    <>
      <code class="ltr">{id}</code>{" "}
      <button
        class="b quiet icon"
        type="button"
        aria-label={t("code.copy", t("key.fact.id"))}
        onClick={() => copyText(id)}
      >
        <Icon id="i-copy" size={14} />
      </button>
    </>
  );
}
