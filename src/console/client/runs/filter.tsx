// The filter of the list of runs, as it stands in the address, in requests and in the command.
import { writeCommand } from "../curl.ts";
import { Chip, ChoiceMenu, FilterBar, SearchField, useQuery } from "../filters.tsx";
import { useResource } from "../live.ts";
import { readRunState } from "../parts.tsx";
import { t } from "../texts.ts";

const KINDS = ["manual", "cron", "webhook"] as const;
export const RANGES = ["1h", "24h", "7d", "30d", "all"] as const;
const RANGE: (typeof RANGES)[number] = "24h";
/** Statuses that are always offered; another one is while it is chosen. */
const CHIPS = ["waiting_approval", "running", "queued", "failed", "budget_exceeded"];

export interface RunListFilter {
  status: string;
  agent: string;
  account: string;
  kind: string;
  text: string;
  range: (typeof RANGES)[number];
  /** Fields of the API's query, each ended by `&`: all but the range and the status. */
  search: string;
  /** The range, likewise. */
  since: string;
  command: string;
  isFiltered: boolean;
}

export function readFilter(query: Readonly<Record<string, string>>): RunListFilter {
  const { status = "", agent = "", account = "", started = "", q = "" } = query;
  const range = RANGES.find((one) => one === query.range) ?? RANGE;
  const fields = { agent, account, trigger_kind: started, text: q };
  const flags = { account, agent, trigger: started, status, text: q };
  const since = range === "all" ? "" : range;
  const words = Object.entries({ ...flags, since }).filter(([, value]) => value !== "");
  return {
    ...{ status, agent, account, kind: started, text: q, range },
    search: writeFields(fields),
    since: since && `since=${since}&`,
    command: writeCommand("runs", "list", ...words.flatMap(([name, text]) => [`--${name}`, text])),
    isFiltered: [status, agent, account, started, q].some((value) => value !== ""),
  };
}

function writeFields(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}&`)
    .join("");
}

interface AgentChoice {
  id: string;
  name: string;
  account: string;
}

export interface StatusCounts {
  counts: Partial<Record<string, number>>;
  is_partial: boolean;
}

type StatusCountsOf = Pick<StatusCounts, "counts">;

interface RunFiltersProps extends StatusCountsOf {
  filter: RunListFilter;
}

export function RunFilters({ filter, counts }: RunFiltersProps) {
  const [, change] = useQuery();
  const agents = useResource<AgentChoice[]>("/agents", ["agents"]).value.data ?? [];
  const accounts = useResource<{ name: string }[]>("/accounts", ["accounts"]).value.data ?? [];
  const { status } = filter;
  const named = (name: string) => (accounts.length > 1 ? ` (${name})` : "");
  return (
    <FilterBar>
      <Chip isPressed={status === ""} onPress={() => change({ status: "" })}>
        {t("runs.all")}
      </Chip>
      <StatusChips status={status} counts={counts} />
      <span class="vr wide" />
      <ChoiceMenu
        label={t("runs.agent")}
        value={filter.agent}
        options={[
          { value: "", text: t("runs.agent") },
          ...agents.map(({ id, name, account }) => ({ value: id, text: name + named(account) })),
        ]}
        onChange={(agent) => change({ agent })}
      />
      <ChoiceMenu
        label={t("runs.account")}
        value={filter.account}
        options={[
          { value: "", text: t("runs.account") },
          ...accounts.map(({ name }) => ({ value: name, text: name })),
        ]}
        onChange={(account) => change({ account })}
      />
      <ChoiceMenu
        label={t("runs.started_by")}
        value={filter.kind}
        options={[
          { value: "", text: t("runs.started_by") },
          ...KINDS.map((kind) => ({ value: kind, text: t(`runs.kind.${kind}`) })),
        ]}
        onChange={(started) => change({ started })}
      />
      <ChoiceMenu
        label={t("runs.range")}
        value={filter.range}
        options={RANGES.map((range) => ({ value: range, text: t(`runs.range.${range}`) }))}
        onChange={(range) => change({ range: range === RANGE ? "" : range })}
      />
      <span class="grow" />
      <SearchField
        label={t("runs.search")}
        hint={t("runs.search.hint")}
        value={filter.text}
        onChange={(q) => change({ q })}
      />
    </FilterBar>
  );
}

function StatusChips({ status, counts }: Pick<RunListFilter, "status"> & StatusCountsOf) {
  const [, change] = useQuery();
  const chips = status === "" || CHIPS.includes(status) ? CHIPS : [...CHIPS, status];
  return (
    <>
      {chips.map((one) => {
        const { shape, tone, word } = readRunState(one);
        const count = counts[one];
        return (
          <Chip
            key={one}
            isPressed={status === one}
            {...{ shape, tone }}
            {...(count !== undefined && { count })}
            onPress={() => change({ status: status === one ? "" : one })}
          >
            {word}
          </Chip>
        );
      })}
    </>
  );
}
