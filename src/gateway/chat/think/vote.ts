// The vote of the attempts: whether they agree, whether others could still matter, and who wins.
import { measureNearness } from "./nearness.ts";

/** An attempt that has answered. */
export interface Voice {
  /** Equal for equal answers; "": it says nothing. */
  key: string;
  text: string;
}

/** One alone has nobody to agree with. */
export function isUnanimous(voices: readonly Voice[]): boolean {
  return voices.length > 1 && voices.every(({ key }) => key === voices[0]!.key);
}

/**
 * Whether the answer that leads wins whatever `more` further voices say: all of them may give one
 * and the same other answer, and a tie may go either way.
 */
export function isDecided(voices: readonly Voice[], more: number): boolean {
  const sizes = [...countVoices(voices).values()].sort((one, other) => other - one);
  const [first = 0, second = 0] = sizes;
  return first - second > more;
}

/**
 * The nearest to all others among those whose answer has most voices. One rule for ties and within
 * a group: it asks only what was said, so the order in which attempts end changes nothing. Of
 * equals it is the first, whose seed is the caller's own.
 */
export function findWinner<V extends Voice>(voices: readonly V[]): V {
  const counts = countVoices(voices);
  const most = Math.max(...counts.values());
  const candidates = voices.filter(({ key }) => counts.get(key) === most);
  const [first] = candidates;
  if (candidates.every(({ text }) => text === first!.text)) return first!;
  const nearness = new Map(
    measureNearness(voices.map(({ text }) => text)).map((near, i) => [voices[i]!, near]),
  );
  return candidates.reduce((best, one) => (nearness.get(one)! > nearness.get(best)! ? one : best));
}

/** How many give each answer; those that say nothing count only where nobody says anything. */
function countVoices(voices: readonly Voice[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { key } of voices) counts.set(key, key === "" ? 0 : (counts.get(key) ?? 0) + 1);
  return counts;
}
