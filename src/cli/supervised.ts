// A server among several of `wadi serve --processes N`, and what it tells their supervisor.
import type { Clock } from "../platform/clock.ts";

const VARIABLE = "WADI_SUPERVISED";

/** Messages to the supervisor, and the one from it. */
export type SupervisedMessage = "ready" | "beat";
export const STOP = "stop";

const BEAT_EVERY_MS = 500;

/** The first one greets people; null: this process has no supervisor. */
export type SupervisedRole = "first" | "next" | null;

export function nameRole(role: NonNullable<SupervisedRole>): Record<string, string> {
  return { [VARIABLE]: role };
}

export const ROLE = takeRole(process.env);

/** Reads the variable and removes it, since it is not for children of this process. */
function takeRole(env: Record<string, string | undefined>): SupervisedRole {
  const role = env[VARIABLE];
  delete env[VARIABLE];
  return role === "first" || role === "next" ? role : null;
}

/** Tells the supervisor that this server is there, and stops with it or when it says so. */
export function joinSupervisor(clock: Clock, stop: () => void): void {
  if (ROLE === null) return;
  const tell = (message: SupervisedMessage) => void process.send?.(message);
  const beat = () => {
    tell("beat");
    clock.after(BEAT_EVERY_MS, beat);
  };
  process.on("message", (message) => {
    if (message === STOP) stop();
  });
  process.on("disconnect", stop);
  tell("ready");
  beat();
}
