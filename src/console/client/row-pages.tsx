// Both ends of a long list: above it rows that wait, below it older ones.
import { useEffect, useRef } from "preact/hooks";
import { t } from "./texts.ts";

export function WaitingRows({ count, onLetIn }: { count: number; onLetIn(): void }) {
  if (count === 0) return null;
  return (
    <p class="fresh" role="status">
      <button class="new" type="button" onClick={onLetIn}>
        {t("rows.new", count)}
      </button>
    </p>
  );
}

interface ListEndProps {
  list: { hasMore: boolean; showMore(): Promise<void> };
  /** Rows that are shown, and those that are held at most. */
  rows: number;
  rowsMax: number;
}

export function ListEnd({ list: { hasMore, showMore }, rows, rowsMax }: ListEndProps) {
  if (rows >= rowsMax) return <p class="page dim">{t("rows.end", rowsMax)}</p>;
  return hasMore ? <OlderRows key={rows} onReach={showMore} /> : null;
}

/** Reaching it reads older rows; a new `key` does so again where it is still seen. */
function OlderRows({ onReach }: { onReach(): Promise<void> }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const watch = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting) void onReach();
    });
    watch.observe(button.current!);
    return () => watch.disconnect();
  }, []);
  return (
    <button class="new" type="button" ref={button} onClick={onReach}>
      {t("rows.older")}
    </button>
  );
}
