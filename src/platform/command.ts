// Runs a command of the settings file, without a shell and without our secrets.
import type { Clock } from "./clock.ts";

/** Environment variables that a command gets: paths, user and locale. */
const NAMES = new Set(["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"]);
const FAMILIES = /^(LC|XDG|DBUS)_/;
const END_MS = 5_000;

/**
 * Runs a command to its end, in a session of its own so that it may outlive us; its output is
 * discarded. Resolves with null after exit code 0, else with a few words about the failure.
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
  child.unref();
  const end = () => {
    endGroup(child.pid, "SIGTERM");
    // Children may ignore SIGTERM even when the command has ended.
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
    // The group has ended already.
  }
}
