// The answer to a request that waits for a run: an event stream with progress before the result.
import { openEventStream, watchIdle } from "../../http/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { RunPosition } from "../runs/store/reads.ts";
import type { Status } from "../runs/transitions.ts";
import type { RunWait, RunWaits } from "../runs/waits.ts";

/** Maximum unread bytes of a client that still gets progress. */
const UNREAD_MAX = 16 * 1024;

export interface StreamDeps {
  waits: Pick<RunWaits, "requirePlace" | "follow">;
  clock: Clock;
  log: Pick<Log, "error">;
}

export interface StreamedAnswer extends Omit<RunWait, "onPosition"> {
  request_id: string;
  /** Writes a message of progress, which is counted from 1; null: the client wants none. */
  writeProgress: ((count: number, status: Status) => string) | null;
  writeAnswer(): Promise<string>;
}

export function answerByStream(
  { waits, clock, log }: StreamDeps,
  { request_id, writeProgress, writeAnswer, ...wait }: StreamedAnswer,
): Response {
  waits.requirePlace(wait.key_id);
  const onFailure = (error: unknown) => log.error("mcp: a run could not be waited for", { error });
  const events = openEventStream(wait.signal, onFailure);
  const idle = watchIdle(clock, () => events.comment("keep-alive"));
  let last: RunPosition | undefined;
  let count = 0;
  const onPosition = (now: RunPosition) => {
    if (last?.status === now.status && last.last_seq === now.last_seq) return;
    last = now;
    // A client that reads slowly misses progress, and gets the answer.
    if (!writeProgress || events.countUnread() > UNREAD_MAX) return;
    idle.end();
    void events.send(writeProgress(++count, now.status));
  };
  const send = async () => {
    const isAnswered = await waits.follow({ ...wait, signal: events.left, onPosition });
    if (isAnswered) void events.send(await writeAnswer());
  };
  void send()
    .catch(onFailure)
    .finally(() => {
      idle.stop();
      events.close();
    });
  return events.answer(200, { "x-request-id": request_id });
}
