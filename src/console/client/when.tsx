// Times as people say them, with the exact one as title.
import { writeExact, writeSpan } from "./format.ts";
import { now } from "./live.ts";
import { t } from "./texts.ts";

/** A moment before or after now: `26 min ago`, `in 3 h`. */
export function When({ at }: { at: string }) {
  // The ticking clock may be a second behind, and the past must not look like the future.
  const span = Date.parse(at) - Math.max(now.value, Date.now());
  return (
    <time dateTime={at} title={writeExact(at)}>
      {span > 0 ? t("when.in", writeSpan(span)) : t("when.ago", writeSpan(-span))}
    </time>
  );
}
