// The time of a request as one bar: gateway, waited for a place, until the first token, streamed.
import { writeTook } from "../format.ts";
import { t } from "../texts.ts";
import { countToFirst, type RequestRow } from "./row.ts";

const BEFORE_FIRST = "color-mix(in srgb, var(--accent) 42%, var(--paper))";

interface LanePart {
  ms: number;
  colour: string;
  says: string;
}

/** The gateway's own time is mostly less than a millisecond. */
const writeOwn = (ms: number): string => (ms < 10 ? ms.toFixed(1) : String(Math.round(ms)));

function listParts(row: RequestRow): LanePart[] {
  const { duration_ms, completion_tokens } = row;
  // Times are rounded, and parts must not be longer than the whole.
  const own = Math.min((row.gateway_us ?? 0) / 1_000, duration_ms);
  const waited = Math.min(row.waited_ms ?? 0, duration_ms - own);
  const toFirst = countToFirst(row);
  const first = toFirst === null ? null : Math.max(0, toFirst - own);
  const left = Math.max(0, duration_ms - own - waited - (first ?? 0));
  const speed =
    completion_tokens && left >= 100 ? Math.round((completion_tokens * 1_000) / left) : null;
  const parts = [
    { ms: own, colour: "var(--ink)", says: t("lane.gateway", writeOwn(own)) },
    { ms: waited, colour: "var(--warn)", says: t("lane.waited", writeTook(waited)) },
    ...(first === null
      ? [{ ms: left, colour: "var(--accent)", says: t("lane.answered", writeTook(left)) }]
      : [
          { ms: first, colour: BEFORE_FIRST, says: t("lane.first", writeTook(first)) },
          { ms: left, colour: "var(--accent)", says: t("lane.streamed", writeTook(left), speed) },
        ]),
  ];
  return parts.filter(({ ms }) => ms > 0);
}

export function Lane({ row }: { row: RequestRow }) {
  const parts = listParts(row);
  const { duration_ms } = row;
  if (parts.length === 0) return null;
  return (
    <>
      <div class="lane ltr" role="img" aria-label={parts.map(({ says }) => says).join(", ")}>
        {parts.map(({ ms, colour, says }) => (
          <span key={says} style={{ "--w": `${(ms / duration_ms) * 100}%`, "--c": colour }} />
        ))}
      </div>
      <p class="legend" aria-hidden="true">
        {parts.map(({ colour, says }) => (
          <span key={says}>
            <i style={{ "--c": colour }} />
            {says}
          </span>
        ))}
        <bdi class="last">{writeTook(duration_ms)}</bdi>
      </p>
    </>
  );
}
