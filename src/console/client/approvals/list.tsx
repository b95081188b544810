// Approvals in a list: those that wait by their end, then decided ones.
import { Fragment } from "preact";
import { shortenId, writeRecent, writeSpan } from "../format.ts";
import { now } from "../live.ts";
import { Icon, Outside } from "../parts.tsx";
import { t } from "../texts.ts";
import type { Decider, ListedApproval } from "./data.ts";

const DECIDED = { approved: "ok", rejected: "rejected", expired: "expired", closed: "cancelled" };
const RISK_TONES = { read: "mute", write: "warn", irreversible: "bad" };

/** Names who decided: an operator, a key, or the person of an operator's link. */
export function nameDecider(by: Decider | null): string {
  if (!by) return "";
  if (by.kind === "key") return t("approvals.by.key", shortenId(by.id));
  return by.person === undefined ? by.id : t("approvals.by.link", by.person, by.id);
}

function Texts({ texts, isDim = false }: { texts: readonly string[]; isDim?: boolean }) {
  if (texts.length === 0) return null;
  return (
    <span class={isDim ? "parts dim" : "parts"}>
      {texts.map((text, at) => (
        <Fragment key={at}>
          {at > 0 && <span class="dot">·</span>}
          <Outside text={text} cut />
        </Fragment>
      ))}
    </span>
  );
}

function describePast({ status, decided_by }: ListedApproval): string {
  if (status === "expired") return t("approvals.past.expired");
  if (status === "closed" || status === "pending") return t("approvals.past.closed");
  return t(`approvals.past.${status}`, nameDecider(decided_by));
}

export interface ItemProps {
  approval: ListedApproval;
  /** Begin of the run's input, where it is known. */
  title: string | undefined;
  href: string;
  isOpen: boolean;
}

function Item({ approval, title, href, isOpen }: ItemProps) {
  const { tool, tool_title, risk, status, account, agent_id, agent_name, preview } = approval;
  const { requested_at, decided_at, expires_at, reason, id } = approval;
  const agent = agent_name ?? shortenId(agent_id);
  const isPending = status === "pending";
  const asked = t("approvals.earlier", writeSpan(now.value - Date.parse(requested_at)));
  // Calls without arguments are told apart by what their runs were asked.
  const input = preview.length === 0 && title ? [title] : [];
  return (
    <a
      class={isPending ? "item" : "item past"}
      href={href}
      data-row={id}
      aria-current={isOpen || undefined}
    >
      {isPending ? (
        <Icon id={`s-${risk}`} size={12} tone={RISK_TONES[risk]} />
      ) : (
        <Icon id={`s-${DECIDED[status]}`} size={12} tone={status === "approved" ? "ok" : "mute"} />
      )}
      <b class="cut">
        <Outside text={tool_title ?? tool} />
      </b>
      <time dateTime={isPending ? expires_at : (decided_at ?? "")}>
        {isPending
          ? t("approvals.left", writeSpan(Math.max(0, Date.parse(expires_at) - now.value)))
          : decided_at && writeRecent(decided_at, now.value)}
      </time>
      <Texts texts={isPending ? [agent, account, asked] : [describePast(approval)]} />
      <Texts
        texts={isPending ? [...preview, ...input] : [agent, ...(reason ? [reason] : preview)]}
        isDim
      />
    </a>
  );
}

interface ItemsProps {
  title: string;
  rows: readonly ListedApproval[];
  open?: string | undefined;
  titles?: ReadonlyMap<string, string> | undefined;
  hrefOf(id: string): string;
}

export function Items({ title, rows, open, titles, hrefOf }: ItemsProps) {
  if (rows.length === 0) return null;
  return (
    <>
      <h2>
        {title} <span>{rows.length}</span>
      </h2>
      {rows.map((row) => (
        <Item
          key={row.id}
          approval={row}
          title={titles?.get(row.run_id)}
          href={hrefOf(row.id)}
          isOpen={row.id === open}
        />
      ))}
    </>
  );
}

export const sortByEnd = (rows: readonly ListedApproval[]) =>
  rows
    .filter(({ status }) => status === "pending")
    .toSorted((a, b) => a.expires_at.localeCompare(b.expires_at));
