// The filters of the request tail, which are those of the operator API.

import { Chip, ChoiceMenu, FilterBar, SearchField, useQuery } from "../filters.tsx";
import { shortenId } from "../format.ts";
import { useResource } from "../live.ts";
import { route } from "../router.ts";
import { t } from "../texts.ts";
import type { RequestRow } from "./row.ts";

/** Fields of the address's query that narrow the tail. */
const FIELDS = ["status", "model", "account", "key", "code", "slower_than_ms"] as const;

type FilterName = (typeof FIELDS)[number];

/** The search of the address in the form of the operator API. */
export function writeSearch(query: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams();
  for (const name of FIELDS) if (query[name]) search.set(name, query[name]);
  return search.toString();
}

const CLASSES = [
  { value: "2xx", shape: "ok", tone: "ok" },
  { value: "4xx", shape: "blocked", tone: "warn" },
  { value: "5xx", shape: "failed", tone: "bad" },
] as const;

const SLOWER_MS = [1_000, 5_000, 10_000, 30_000, 60_000];

interface RequestFiltersProps {
  /** Rows that are held, which give the counts and the codes. */
  rows: readonly RequestRow[];
}

export function RequestFilters({ rows }: RequestFiltersProps) {
  const [query, change] = useQuery();
  return (
    <FilterBar>
      <Chip isPressed={!query.status} onPress={() => change({ status: "" })}>
        {t("requests.all")}
      </Chip>
      {CLASSES.map(({ value, shape, tone }) => (
        <Chip
          key={value}
          {...{ shape, tone }}
          isPressed={query.status === value}
          {...countOf(query.status ? [] : rows, value)}
          onPress={() => change({ status: query.status === value ? "" : value })}
        >
          {value}
        </Chip>
      ))}
      <span class="vr wide" />
      <Menus rows={rows} />
      <span class="grow" />
      <SearchField
        label={t("requests.find")}
        hint={t("requests.id")}
        value=""
        onChange={(id) => {
          if (id.trim() !== "") route(`/console/requests/${encodeURIComponent(id.trim())}`);
        }}
      />
    </FilterBar>
  );
}

function Menus({ rows }: RequestFiltersProps) {
  const [query, change] = useQuery();
  const models = useResource<{ id: string }[]>("/models", ["models"]).value.data ?? [];
  const accounts = useResource<{ name: string }[]>("/accounts", ["accounts"]).value.data ?? [];
  const keyPath = `/keys${query.account ? `?account=${encodeURIComponent(query.account)}` : ""}`;
  const keys = useResource<{ id: string; name: string | null }[]>(keyPath, ["keys"]).value.data;
  const codes = new Set(rows.flatMap(({ code }) => (code === null ? [] : [code])));
  if (query.code) codes.add(query.code);
  const slower = SLOWER_MS.map((ms) => {
    return { value: String(ms), text: t("requests.slower_than", ms / 1_000) };
  });
  const menus: [field: FilterName, label: string, options: { value: string; text: string }[]][] = [
    ["model", t("requests.model"), models.map(({ id }) => nameOption(id))],
    ["account", t("requests.account"), accounts.map(({ name }) => nameOption(name))],
    [
      "key",
      t("requests.key_alone"),
      (keys ?? []).map(({ id, name }) => ({ value: id, text: name ?? shortenId(id) })),
    ],
    ["code", t("requests.code"), [...codes].sort().map(nameOption)],
    ["slower_than_ms", t("requests.slower"), slower],
  ];
  return (
    <>
      {menus.map(([field, label, options]) => (
        <ChoiceMenu
          key={field}
          label={label}
          value={query[field] ?? ""}
          options={[{ value: "", text: label }, ...options]}
          // A key belongs to one account.
          onChange={(value) => change({ [field]: value, ...(field === "account" && { key: "" }) })}
        />
      ))}
    </>
  );
}

const nameOption = (name: string) => ({ value: name, text: name });

/** Counts what went wrong among the rows that are held; no count where nothing did. */
function countOf(rows: readonly RequestRow[], name: string): { count?: number } {
  const count = rows.filter(({ status }) => String(status).startsWith(name[0]!)).length;
  return count === 0 || name === "2xx" ? {} : { count };
}
