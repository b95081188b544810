// The last 24 hours as bars: requests with the failed part, tokens, cost.
import { HourBars } from "../charts.tsx";
import { HOUR_MS, writeCompact, writeDay, writeMinute, ZONE } from "../format.ts";
import { now, useResource } from "../live.ts";
import { FailureNote, Head } from "../parts.tsx";
import { t } from "../texts.ts";

const HOURS = 24;

interface UsageHour {
  hour: string;
  requests: number;
  failed: number;
  prompt_tokens: number;
  completion_tokens: number;
  cost: string | null;
  unpriced: number;
}

interface HourReport {
  currency: string;
  rows: readonly UsageHour[];
}

interface DayHour {
  at: number;
  requests: number;
  failed: number;
  read: number;
  written: number;
  cost: number;
  unpriced: number;
}

/** Begin of the running hour in the reader's zone. */
function startOfHour(timeMs: number): number {
  return new Date(timeMs).setMinutes(0, 0, 0);
}

function fillHours(rows: readonly UsageHour[], last: number): DayHour[] {
  const first = last - (HOURS - 1) * HOUR_MS;
  const hours = Array.from({ length: HOURS }, (_, index) => ({
    at: first + index * HOUR_MS,
    ...{ requests: 0, failed: 0, read: 0, written: 0, cost: 0, unpriced: 0 },
  }));
  for (const row of rows) {
    const hour = hours[Math.floor((Date.parse(row.hour) - first) / HOUR_MS)];
    if (!hour) continue;
    hour.requests += row.requests;
    hour.failed += row.failed;
    hour.read += row.prompt_tokens;
    hour.written += row.completion_tokens;
    hour.cost += Number(row.cost ?? 0);
    hour.unpriced += row.unpriced;
  }
  return hours;
}

const writeHour = (at: number) => writeMinute(new Date(at).toISOString());

export function LastDay() {
  const last = startOfHour(now.value);
  const from = writeDay(last - (HOURS - 1) * HOUR_MS);
  const path = `/usage?by=hour&from=${from}&to=${writeDay(last)}&zone=${encodeURIComponent(ZONE)}`;
  const { data, failure } = useResource<HourReport>(path, ["requests"]).value;
  const hours = fillHours(data?.rows ?? [], last);
  const sum = (name: keyof DayHour) => hours.reduce((total, hour) => total + hour[name], 0);
  const [read, written] = [sum("read"), sum("written")];
  const bars = (pick: (hour: DayHour) => number) =>
    hours.map((hour) => ({ at: hour.at, value: pick(hour) }));
  return (
    <section aria-busy={data === null && !failure}>
      <Head title={t("home.day")} end={<a href="/console/usage">{t("page.usage")}</a>} />
      {failure && <FailureNote what={t("home.day")} failure={failure} />}
      <div class="three">
        <div>
          <p class="soft">{t("usage.measure.requests")}</p>
          <p class="fig">
            <bdi>{writeCompact(sum("requests"))}</bdi>{" "}
            <span>{t("home.day.failed", sum("failed"))}</span>
          </p>
          <HourBars
            label={t("home.day.requests")}
            writeTime={writeHour}
            bars={hours.map(({ at, requests, failed }) => ({ at, value: requests, failed }))}
          />
        </div>
        <div>
          <p class="soft">{t("usage.measure.tokens")}</p>
          <p class="fig">
            <bdi>{writeCompact(read + written)}</bdi>{" "}
            <span>{t("home.day.in_out", writeCompact(read), writeCompact(written))}</span>
          </p>
          <HourBars
            label={t("home.day.tokens")}
            writeTime={writeHour}
            bars={bars((hour) => hour.read + hour.written)}
          />
        </div>
        <div>
          <p class="soft">{t("usage.measure.cost")}</p>
          <p class="fig" title={sum("cost").toFixed(6)}>
            {sum("cost").toFixed(2)}{" "}
            <span>{t("home.day.cost", data?.currency ?? "SAR", sum("unpriced"))}</span>
          </p>
          <HourBars
            label={t("home.day.costs")}
            writeTime={writeHour}
            bars={bars((hour) => hour.cost)}
          />
        </div>
      </div>
    </section>
  );
}
