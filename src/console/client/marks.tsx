// The last outcomes of something as marks, oldest first; a sentence says the same.

export interface Mark {
  id: string;
  tone: "ok" | "run" | "warn" | "bad" | "over" | "mute";
  /** The outcome in a word, and what it is of. */
  says: string;
}

/** `says` counts the outcomes: it is all that a screen reader gets. */
export function Marks({ marks, says }: { marks: readonly Mark[]; says: string }) {
  if (marks.length === 0) return <span class="dim">{says}</span>;
  return (
    <span class="marks" role="img" aria-label={says}>
      {marks.map(({ id, tone, says: title }) => (
        <i key={id} class={tone} title={title} />
      ))}
    </span>
  );
}

/** Counts words in the order of their first mark, as `18 succeeded, 2 failed`. */
export function countMarks(words: readonly string[]): string {
  const counts = Map.groupBy(words, (word) => word);
  return [...counts].map(([word, { length }]) => `${length} ${word}`).join(", ");
}
