// Several replicas of one model: fewest requests in flight first, another when it fails early.
import type { Answer, Ear, Ending } from "./contract.ts";

export interface Replicas {
  /** As soon as a piece was heard nobody else can take over. */
  answer: Answer;
  /** True: none of them would answer. */
  isDown(): boolean;
  /** Forgets what was held against them: their unit has just been started. */
  forgive(): void;
  start(): void;
  stop(): void;
}

/** Joins replicas into one answer. */
export function joinReplicas(replicas: readonly Answer[]): Replicas {
  const unwatched = { isDown: () => false, forgive() {}, start() {}, stop() {} };
  if (replicas.length === 1) return { answer: replicas[0]!, ...unwatched };
  const in_flight = replicas.map(() => 0);
  let turn = 0;

  /** Among equals they take turns. */
  const order = (): number[] => {
    const first = turn++;
    return replicas
      .map((_, i) => (i + first) % replicas.length)
      .sort((a, b) => in_flight[a]! - in_flight[b]!);
  };
  const answer: Answer = async (ask, ear, signal) => {
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
  return { answer, ...unwatched };
}
