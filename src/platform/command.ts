// Runs a command of the operator's own file, without a shell and with no secret of ours.
import type { Clock } from "./clock.ts";

/** What a command may know of our environment: where things are and how to speak, no secret. */
const NAMES = new Set(["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"]);
const FAMILIES = /^(LC|XDG|DBUS)_/;
/** Whoever is told to end has so long to do it. */
const END_MS = 5_000;

/**
 * Runs it to its end: null when it exited with 0, else why not, in a few words. It stands in a
 * session of its own, so that it outlives us, be it a server in the foreground; what it prints is
 * kept nowhere. `signal` ends it, and all that it has started.
 */
export async function runCommand(
  command: readonly string[],
  clock: Clock,
  signal: AbortSignal,
): Promise<string | null> {
  if (signal.aborted) return "it was given up";
  let child: Bun.Subprocess;
  try {
    child = Bun.spawn([...command], {
      stdio: ["ignore", "ignore", "ignore"],
      env: reduceEnvironment(process.env),
      detached: true,
    });
  } catch {
    return "its command cannot be run";
  }
  // It must not hold up our own end.
  child.unref();
  const end = () => {
    endGroup(child.pid, "SIGTERM");
    // Also when the first of them has ended by then: the others may not listen.
    clock.after(END_MS, () => endGroup(child.pid, "SIGKILL"));
  };
  signal.addEventListener("abort", end, { once: true });
  const code = await child.exited;
  signal.removeEventListener("abort", end);
  if (child.signalCode) return `its command was ended by ${child.signalCode}`;
  return code === 0 ? null : `its command exited with ${code}`;
}

function reduceEnvironment(env: Readonly<Record<string, string | undefined>>) {
  const kept = Object.entries(env).filter(([name]) => NAMES.has(name) || FAMILIES.test(name));
  return Object.fromEntries(kept);
}

function endGroup(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(-pid, name);
  } catch {
    // It has ended meanwhile.
  }
}
