// The time of a request as one bar: waited for a place, until the first token, streamed.
import { writeTook } from "../format.ts";
import { t } from "../texts.ts";
import { countToFirst, type RequestRow } from "./row.ts";

const BEFORE_FIRST = "color-mix(in srgb, var(--accent) 42%, var(--paper))";

interface LanePart {
  ms: number;
  colour: string;
  says: string;
}

function listParts(row: RequestRow): LanePart[] {
  const { duration_ms, completion_tokens } = row;
  const waited = Math.min(row.waited_ms ?? 0, duration_ms);
  const first = countToFirst(row);
  const left = duration_ms - waited - (first ?? 0);
  const speed =
    completion_tokens && left >= 100 ? Math.round((completion_tokens * 1_000) / left) : null;
  const parts = [
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
