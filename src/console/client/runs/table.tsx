// The table of runs: one row each, of one height.

import { shortenId, writeExact, writeMoment, writeSpan, writeTook } from "../format.ts";
import { now } from "../live.ts";
import { Money, Outside, RunState } from "../parts.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import { WindowRows } from "../window.tsx";
import type { RunItem } from "./list.ts";

const COLUMNS = 11;

export interface RowMarks {
  /** Row on which `j` and `k` stand. */
  chosen: string | null;
  selected: ReadonlySet<string>;
  onSelect(id: string): void;
}

export function RunTable({ rows, marks }: { rows: readonly RunItem[]; marks: RowMarks }) {
  return (
    <table class="t full stack runs">
      <thead>
        <tr>
          <th>{t("column.state")}</th>
          <th class="w">{t("runs.column.input")}</th>
          <th class="p2">{t("column.agent")}</th>
          <th class="p3">{t("runs.started_by")}</th>
          <th class="n p2">{t("runs.column.started")}</th>
          <th class="n">{t("runs.column.took")}</th>
          <th class="p3">
            <span class="vh">{t("runs.column.spans")}</span>
          </th>
          <th class="n p3">{t("runs.column.rounds")}</th>
          <th class="n p2">{t("runs.column.tokens")}</th>
          <th class="n">{t("column.sar")}</th>
          <th class="p2">{t("runs.column.id")}</th>
        </tr>
      </thead>
      <WindowRows rows={rows} columns={COLUMNS}>
        {(run) => drawRow(run, marks)}
      </WindowRows>
    </table>
  );
}

function drawRow(run: RunItem, marks: RowMarks) {
  const { id, title, status, error_code, agent_name, agent_id, version, created_at } = run;
  const isSelected = marks.selected.has(id);
  return (
    <tr
      key={id}
      data-row={id}
      class={marks.chosen === id ? "on" : ""}
      aria-selected={isSelected || undefined}
    >
      <td class="a2">
        <RunState status={status} />
      </td>
      <td class="w a1">
        <span class="row">
          <a
            class="x cut"
            href={`/console/runs/${id}`}
            onClick={(event) => {
              if (!event.shiftKey) return;
              event.preventDefault();
              marks.onSelect(id);
            }}
          >
            {title === "" ? <span class="dim">{t("runs.no_text")}</span> : <Outside text={title} />}
          </a>
          {error_code !== null && status === "failed" && (
            <code class="soft wide">{error_code}</code>
          )}
        </span>
      </td>
      <td class="p2 nw soft agent">
        <Outside text={agent_name ?? shortenId(agent_id)} cut />{" "}
        <span class="dim">{t("runs.version", version)}</span>
      </td>
      <td class="p3 soft">{t(`runs.kind.${run.trigger_kind}`)}</td>
      <td class="n soft p2">
        <time dateTime={created_at} title={writeExact(created_at)}>
          {writeMoment(created_at, now.value)}
        </time>
      </td>
      <td class="n b2">
        <Took run={run} />
      </td>
      <td class="p3">
        <Spans run={run} />
      </td>
      <td class="n p3">{run.rounds}</td>
      <td class="n p2">{writeCount(run.total_tokens)}</td>
      <td class="n b1">
        <Cost sum={run.cost} />
      </td>
      <td class="id p2">
        <span class="ltr" title={id}>
          {shortenId(id)}
        </span>
      </td>
    </tr>
  );
}

export function Cost({ sum }: { sum: string | null }) {
  return sum === null ? <span class="dim">{t("runs.no_price")}</span> : <Money sum={sum} />;
}

/** An active run's time grows once a second. */
function Took({ run: { created_at, finished_at } }: { run: RunItem }) {
  const begin = Date.parse(created_at);
  return (
    <bdi>
      {finished_at === null
        ? writeSpan(now.value - begin)
        : writeTook(Date.parse(finished_at) - begin)}
    </bdi>
  );
}

function Spans({ run: { queued_ms, worked_ms, waited_ms } }: { run: RunItem }) {
  const spans = [queued_ms, worked_ms, waited_ms];
  const sum = Math.max(1, queued_ms + worked_ms + waited_ms);
  const [queued, worked, waited] = spans.map(writeTook) as [string, string, string];
  const says = t("runs.spans", queued, worked, waited);
  return (
    <span class="split3" role="img" aria-label={says} title={says}>
      {spans.map((ms, at) => (
        <i key={at} style={{ "--w": `${(100 * ms) / sum}%` }} />
      ))}
    </span>
  );
}
