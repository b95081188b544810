// The time of a session's last request, noted once a minute at most.
import { DatabaseUnavailable } from "../database/index.ts";

const NOTE_EVERY_MS = 60_000;

/** Notes it where the stored time is old enough; a full disk must not refuse a request. */
export async function noteLastSeen(
  { seenAt, now }: { seenAt: number; now: number },
  note: () => Promise<unknown>,
): Promise<void> {
  if (now - seenAt < NOTE_EVERY_MS) return;
  try {
    await note();
  } catch (failure) {
    if (!(failure instanceof DatabaseUnavailable)) throw failure;
  }
}
