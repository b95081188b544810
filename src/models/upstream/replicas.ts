// Several replicas of one model: fewest requests in flight first, another when it fails early.
import type { Answer, Ear, Ending } from "./contract.ts";

/** Joins replicas into one answer. As soon as a piece was heard nobody else can take over. */
export function joinReplicas(replicas: readonly Answer[]): Answer {
  if (replicas.length === 1) return replicas[0]!;
  const in_flight = replicas.map(() => 0);
  let turn = 0;

  /** Among equals they take turns. */
  const order = (): number[] => {
    const first = turn++;
    return replicas
      .map((_, i) => (i + first) % replicas.length)
      .sort((a, b) => in_flight[a]! - in_flight[b]!);
  };
  return async (ask, ear, signal) => {
    let isHeard = false;
    const hear: Ear = (piece) => {
      isHeard = true;
      return ear(piece);
    };
    let ending: Ending | undefined;
    for (const index of order()) {
      in_flight[index]! += 1;
      try {
        ending = await replicas[index]!(ask, hear, signal);
      } finally {
        in_flight[index]! -= 1;
      }
      if (ending.ok || isHeard || !ending.elsewhere || signal.aborted) return ending;
    }
    return ending!;
  };
}
