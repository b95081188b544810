// Usage: stacked bars by day or hour, and the table with the same sums.

import { useSignal } from "@preact/signals";
import { writeCommand as formatCommand } from "../curl.ts";
import { useQuery } from "../filters.tsx";
import { writeCompact, ZONE } from "../format.ts";
import { useKeys } from "../keyboard.ts";
import { now, useResource } from "../live.ts";
import { Unready } from "../resource.tsx";
import { type KeyHint, Page } from "../shell.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import { saveCsv } from "./csv.ts";
import { UsageFilters, writeMonth } from "./filters.tsx";
import {
  addSums,
  type GroupSums,
  groupRows,
  MEASURES,
  NO_USE,
  type ReportRow,
  STACKS,
  type UsageGroup,
  type UsageMeasure,
  writeMicro,
} from "./groups.ts";
import { listTimes, moveSpan, readSpan, readToday, startOfDay, type UsageSpan } from "./range.ts";
import { StackedBars, type StackedTime } from "./stacked-bars.tsx";
import { listCells, sumLines, UsageTable } from "./table.tsx";

interface UsageReply {
  currency?: string;
  rows: readonly ReportRow[];
}

const HINTS: readonly KeyHint[] = [{ keys: ["[", "]"], text: "keys.range" }];
const FILTERS = ["account", "key", "model", "agent"] as const;

const choose = <Value extends string>(all: readonly Value[], text: string | undefined): Value =>
  all.find((value) => value === text) ?? all[0]!;

/** The view of the address, and the fields that the operator API is asked by. */
function useView() {
  const [query, change] = useQuery();
  const measure = choose(MEASURES, query.measure);
  const stack = choose(STACKS, query.by);
  const zone = query.zone || ZONE;
  const today = readToday(now.value, zone);
  const span = readSpan(query.range ?? "", query.to ?? "", today);
  const filters = FILTERS.flatMap((name) => (query[name] ? [[name, query[name]] as const] : []));
  const move = (by: 1 | -1) => {
    const moved = moveSpan(span, by, today);
    if (moved) change(moved);
  };
  return { measure, stack, zone, today, span, filters, move };
}

type UsageView = ReturnType<typeof useView>;

function writePath({ measure, stack, zone, span, filters }: UsageView): string {
  const { from, to, isHourly } = span;
  const by = `${isHourly ? "hour" : "day"},${stack}`;
  const fields = new URLSearchParams({ by, from, to, zone, ...Object.fromEntries(filters) });
  return `${measure === "runs" ? "/usage/runs" : "/usage"}?${fields}`;
}

function writeCommand({ measure, stack, zone, span, filters }: UsageView): string {
  const range = span.month ? ["--month", span.month] : ["--from", span.from, "--to", span.to];
  const flags = filters.flatMap(([name, value]) => [`--${name}`, value]);
  const command = measure === "runs" ? ["runs", "usage"] : ["usage"];
  return formatCommand(...command, "--by", stack, ...range, "--zone", zone, ...flags);
}

export function Usage() {
  const view = useView();
  const { measure, stack, zone, span, today, move } = view;
  useKeys({ "[": () => move(-1), "]": () => move(1) });
  const topic = measure === "runs" ? "runs" : "requests";
  const reply = useResource<UsageReply>(writePath(view), [topic]).value;
  const groups = groupRows(reply.data?.rows ?? [], stack, measure);
  const at = useSignal<string | null>(null);
  const currency = reply.data?.currency ?? "SAR";
  const times = listTimes(span, startOfDay(span.from, zone));
  const shown = at.value !== null && times.includes(at.value) ? at.value : null;
  const lines = groups.map(({ id, name, sums, byTime }) => ({
    ...{ id, name },
    sums: shown === null ? sums : (byTime.get(shown) ?? NO_USE),
  }));
  const table = { lines, measure, stack, currency };
  return (
    <Page
      title="page.usage"
      says={t("usage.says", writeSpanName(span), zone)}
      command={writeCommand(view)}
      hints={HINTS}
      end={
        <button
          class="b"
          type="button"
          onClick={() => saveCsv(`usage-${shown ?? span.from}.csv`, listCells(table))}
        >
          {t("usage.csv")}
        </button>
      }
    >
      <UsageFilters {...{ measure, stack, zone, span, today }} onMove={move} />
      <Unready what={t("page.usage")} resource={reply} />
      {reply.data && (
        <div class="page">
          <section>
            <Headline {...{ groups, span, today, measure, currency }} />
            <StackedBars
              label={t("usage.chart", t(`usage.measure.${measure}`), t(`usage.by.${stack}`))}
              times={stackTimes(times, groups, { measure, zone, nowMs: now.value })}
              unit={measure === "cost" ? currency : ""}
              write={measure === "cost" ? writeCost : writeCompact}
              chosen={shown}
              onChoose={(time) => {
                at.value = time;
              }}
            />
          </section>
          <section aria-live="polite">
            <p class="soft of">{shown === null ? t("usage.whole") : writeTime(shown, zone)}</p>
            {lines.length === 0 ? <p class="soft">{t("usage.none")}</p> : <UsageTable {...table} />}
          </section>
        </div>
      )}
    </Page>
  );
}

/** Writes millionths by what tells them apart, such as `0.10` and `0.05`. */
function writeCost(micro: number): string {
  const sum = micro / 1e6;
  if (sum >= 0.1 && sum < 10) return sum.toFixed(2);
  return String(sum < 0.1 ? Number(sum.toPrecision(2)) : Math.round(sum * 100) / 100);
}

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** Writes a day as `22 Nov`, or an hour with its day. */
function writeTime(time: string, zone: string): string {
  if (time.length === 10) return day.format(new Date(time));
  return new Date(time).toLocaleString("en-GB", {
    ...{ timeZone: zone, day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
  });
}

function writeSpanName({ month, from, to }: UsageSpan): string {
  if (month) return writeMonth(month);
  return from === to
    ? day.format(new Date(from))
    : t("usage.span", day.format(new Date(from)), day.format(new Date(to)));
}

interface StackOptions {
  measure: UsageMeasure;
  zone: string;
  nowMs: number;
}

function stackTimes(
  times: readonly string[],
  groups: readonly UsageGroup[],
  { measure, zone, nowMs }: StackOptions,
): StackedTime[] {
  const today = readToday(nowMs, zone);
  const hourMs = 3_600_000;
  const isHourly = times[0]?.length !== 10;
  const every = isHourly ? 6 : times.length > 45 ? 14 : times.length > 10 ? 7 : 1;
  return times.map((time, at) => {
    const label = isHourly ? writeTime(time, zone).slice(-5) : writeTime(time, zone);
    const start = Date.parse(time);
    return {
      id: time,
      says: writeTime(time, zone),
      label: at % every === 0 ? label : null,
      parts: groups.map(({ byTime }) => byTime.get(time)?.[measure] ?? 0),
      isUnderWay: isHourly ? start <= nowMs && nowMs < start + hourMs : time === today,
      hasCap:
        measure === "cost" && groups.some(({ byTime }) => (byTime.get(time)?.unpriced ?? 0) > 0),
    };
  });
}

interface HeadlineProps {
  groups: readonly UsageGroup[];
  span: UsageSpan;
  today: string;
  measure: UsageMeasure;
  currency: string;
}

/** The sum of the range, and what is not in it. */
function Headline({ groups, span, today, measure, currency }: HeadlineProps) {
  const all = sumLines(groups);
  const last = span.to < today ? span.to : today;
  const days = Math.round((Date.parse(last) - Date.parse(span.from)) / 86_400_000) + 1;
  const isOpen = span.to >= today && !span.isHourly;
  const todays = groups.map(({ byTime }) => byTime.get(today) ?? NO_USE).reduce(addSums, NO_USE);
  const figure = (sums: GroupSums) =>
    measure === "cost" ? (sums.cost / 1e6).toFixed(2) : writeCompact(sums[measure]);
  const exact = measure === "cost" ? writeMicro(all.cost) : writeCount(all[measure]);
  const says = [
    t(`usage.sum.${measure}`, currency, days),
    isOpen ? t("usage.today", figure(todays)) : "",
    measure === "cost" && all.unpriced > 0 ? t("usage.not_in", all.unpriced) : "",
    measure === "requests" || measure === "runs" ? t("usage.failures", all.failed) : "",
    measure === "runs" ? t("usage.runs.deleted") : "",
  ];
  return (
    <p class="fig headline" title={exact}>
      {figure(all)} <span>{says.filter((part) => part !== "").join(" ")}</span>
    </p>
  );
}
