// Filters of the usage page: the measure, its stacks, the range, and what it is limited to.
import { ChoiceMenu, FilterBar, useQuery } from "../filters.tsx";
import { shortenId, ZONE } from "../format.ts";
import { useResource } from "../live.ts";
import { Icon, Segment } from "../parts.tsx";
import { t } from "../texts.ts";
import { MEASURES, STACKS, type UsageMeasure, type UsageStack } from "./groups.ts";
import { addMonths, type UsageSpan } from "./range.ts";

const MONTHS_SHOWN = 12;
const DAYS_SHOWN = [1, 2, 7, 30, 90];

interface UsageFiltersProps {
  measure: UsageMeasure;
  stack: UsageStack;
  span: UsageSpan;
  zone: string;
  today: string;
  onMove(by: 1 | -1): void;
}

const month = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

export const writeMonth = (text: string): string => month.format(new Date(`${text}-01`));

export function UsageFilters({ measure, stack, span, zone, today, onMove }: UsageFiltersProps) {
  const [, change] = useQuery();
  const current = span.month ?? `${span.days}d`;
  const months = Array.from({ length: MONTHS_SHOWN }, (_, at) => addMonths(today.slice(0, 7), -at));
  if (span.month && !months.includes(span.month)) months.push(span.month);
  const ranges = [
    ...DAYS_SHOWN.map((days) => ({ value: `${days}d`, text: t("usage.days", days) })),
    ...months.map((value) => ({ value, text: writeMonth(value) })),
  ];
  const zones = [...new Set([ZONE, "UTC", zone])];
  return (
    <FilterBar>
      <Segment
        label={t("usage.show")}
        value={measure}
        options={MEASURES.map((value) => ({ value, text: t(`usage.measure.${value}`) }))}
        onChange={(value) => change({ measure: value === "cost" ? "" : value })}
      />
      <span class="vr wide" />
      <ChoiceMenu
        label={t("usage.stacked")}
        value={stack}
        options={STACKS.map((value) => ({ value, text: t(`usage.stacked.${value}`) }))}
        onChange={(value) => change({ by: value === "account" ? "" : value })}
      />
      <ChoiceMenu
        label={t("usage.range")}
        value={current}
        options={ranges}
        onChange={(range) => change({ range, to: "" })}
      />
      {([-1, 1] as const).map((by) => (
        <button
          key={by}
          class="b quiet"
          type="button"
          aria-label={t(by < 0 ? "usage.before" : "usage.after")}
          onClick={() => onMove(by)}
        >
          <Icon id="i-back" size={14} tone={by < 0 ? "flip" : "flip ahead"} />
        </button>
      ))}
      <ChoiceMenu
        label={t("usage.zone")}
        value={zone}
        options={zones.map((value) => ({ value, text: value }))}
        onChange={(value) => change({ zone: value === ZONE ? "" : value })}
      />
      <Menus />
    </FilterBar>
  );
}

interface Named {
  id: string;
  name?: string | null;
}

const FIELDS = ["account", "model", "key", "agent"] as const;

function Menus() {
  const [query, change] = useQuery();
  const lists = {
    account: useResource<{ name: string }[]>("/accounts", ["accounts"]).value.data?.map(
      ({ name }): Named => ({ id: name }),
    ),
    model: useResource<Named[]>("/models", ["models"]).value.data,
    key: useResource<Named[]>("/keys", ["keys"]).value.data,
    agent: useResource<Named[]>("/agents", ["agents"]).value.data,
  };
  return (
    <>
      {FIELDS.map((field) => {
        const value = query[field] ?? "";
        const list = lists[field] ?? [];
        const options = list.map(({ id, name }) => ({
          value: id,
          text: name ?? (field === "key" ? shortenId(id) : id),
        }));
        if (value && !list.some(({ id }) => id === value)) options.push({ value, text: value });
        const label = t(`usage.by.${field}`);
        return (
          <ChoiceMenu
            key={field}
            {...{ label, value }}
            options={[{ value: "", text: label }, ...options]}
            onChange={(chosen) => change({ [field]: chosen })}
          />
        );
      })}
    </>
  );
}
