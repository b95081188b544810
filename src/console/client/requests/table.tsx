// The table of requests: one line each, and the explanation below the one that is open.

import { writeClock, writeExact, writeTook } from "../format.ts";
import { Icon, Money, Outside, State } from "../parts.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import { WindowRows } from "../window.tsx";
import { Explained } from "./explained.tsx";
import { LEFT, nameSender, outcomeOf, type RequestRow } from "./row.ts";

const COLUMNS = 11;

interface RequestTableProps {
  rows: readonly RequestRow[];
  chosen: string | null;
  opened: string | null;
  /** Explains a row, or closes the open one. */
  onToggle(row: RequestRow): void;
}

export function RequestTable(props: RequestTableProps) {
  const { rows, chosen, opened, onToggle } = props;
  return (
    <table class="t full stack requests">
      <thead>
        <tr>
          <th>{t("requests.time")}</th>
          <th>{t("requests.status")}</th>
          <th>{t("requests.model")}</th>
          <th class="w p2">{t("requests.key")}</th>
          <th class="n p3">{t("requests.replica")}</th>
          <th class="n p3">{t("requests.first")}</th>
          <th class="n">{t("requests.took")}</th>
          <th class="n p3">{t("requests.in")}</th>
          <th class="n p3">{t("requests.out")}</th>
          <th class="n">{t("column.sar")}</th>
          <th class="p2">{t("requests.end")}</th>
        </tr>
      </thead>
      <WindowRows rows={rows} columns={COLUMNS}>
        {(row) => (
          <Line
            key={row.id}
            {...{ row, onToggle }}
            isChosen={row.id === chosen}
            isOpen={row.id === opened}
          />
        )}
      </WindowRows>
    </table>
  );
}

interface LineProps extends Pick<RequestTableProps, "onToggle"> {
  row: RequestRow;
  isChosen: boolean;
  isOpen: boolean;
  "aria-rowindex"?: number;
}

function Line({ row, isChosen, isOpen, onToggle, "aria-rowindex": index }: LineProps) {
  const [second, millis] = splitTime(row.at);
  return (
    <>
      <tr
        class={isChosen || isOpen ? "opens on" : "opens"}
        data-row={row.id}
        aria-rowindex={index}
        onClick={({ target }) => {
          if (!(target as Element).closest("a") && !getSelection()?.toString()) onToggle(row);
        }}
      >
        <td class="time a2">
          <a
            class="x ltr"
            href={`/console/requests/${row.id}`}
            title={writeExact(row.at)}
            aria-expanded={isOpen}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.shiftKey) return;
              event.preventDefault();
              event.stopPropagation();
              onToggle(row);
            }}
          >
            {second}
            <span class="p2">{millis}</span>
          </a>
        </td>
        <td class="b2">
          <State {...outcomeOf(row)}>{row.status}</State>
        </td>
        <td class="nw a1">
          <Model row={row} />
        </td>
        <td class="w cut p2">
          <Outside text={nameSender(row)} />
          {row.account !== null && (
            <span class="dim">
              {" · "}
              <Outside text={row.account} />
            </span>
          )}
        </td>
        <td class="n p3 soft">
          <span class="ltr">{row.replica}</span>
        </td>
        <td class="n p3">{row.first_token_ms !== null && writeTook(row.first_token_ms)}</td>
        <td class="n b1">{writeTook(row.duration_ms)}</td>
        <td class="n p3">{row.prompt_tokens !== null && writeCount(row.prompt_tokens)}</td>
        <td class="n p3">{row.completion_tokens !== null && writeCount(row.completion_tokens)}</td>
        <td class="n c2">
          <Cost row={row} />
        </td>
        <td class="p2 nw">
          <End row={row} />
        </td>
      </tr>
      {isOpen && (
        <tr class="exp">
          <td colSpan={COLUMNS}>
            <Explained row={row} />
          </td>
        </tr>
      )}
    </>
  );
}

/** Splits a time behind its second, whose fraction is shown dimmer. */
function splitTime(iso: string): [string, string] {
  return [writeClock(iso), `.${iso.slice(20, 23)}`];
}

function Model({ row: { model_asked, model, route, run_id } }: { row: RequestRow }) {
  const isOther = model_asked !== null && model !== null && model_asked !== model;
  const name = model ?? model_asked ?? (route === "chat" ? "" : route);
  return (
    <span class="name">
      {isOther && (
        <span class="dim">
          <Outside text={model_asked} /> →{" "}
        </span>
      )}
      <span class={model === null ? "dim" : ""}>
        <Outside text={name} />
      </span>
      {run_id !== null && (
        <span class="dim" title={t("requests.of_run")}>
          {" "}
          <Icon id="i-agents" size={12} />
          <span class="vh">{t("requests.of_run")}</span>
        </span>
      )}
    </span>
  );
}

function Cost({ row: { cost, prompt_tokens } }: { row: RequestRow }) {
  if (cost !== null) return <Money sum={cost} />;
  return prompt_tokens === null ? null : <span class="dim">{t("requests.no_price")}</span>;
}

function End({ row: { code, finish_reason } }: { row: RequestRow }) {
  if (code === LEFT) return <>{t("requests.left")}</>;
  if (code !== null) return <code>{code}</code>;
  return <span class="soft">{finish_reason !== null && <Outside text={finish_reason} />}</span>;
}
