// The upgrade that has started this process: its server, and how that one learns of a failure.

const VARIABLE = "WADI_UPGRADE";

interface UpgradeOrigin {
  /** The server knows the process by it, also where a script has started that. */
  token: string;
  /** The server's control socket. */
  file: string;
}

export function nameUpgrade({ token, file }: UpgradeOrigin): Record<string, string> {
  return { [VARIABLE]: `${token}:${file}` };
}

/** The upgrade that has started this process; null: none has. */
export const ORIGIN = takeOrigin(process.env);

/** Reads the variable and removes it, since it is not for children of this process. */
function takeOrigin(env: Record<string, string | undefined>): UpgradeOrigin | null {
  const [, token, file] = /^(\w+):(.+)$/s.exec(env[VARIABLE] ?? "") ?? [];
  delete env[VARIABLE];
  return token && file ? { token, file } : null;
}

/** Tells the server why this process has failed, also before it takes over. */
export async function reportFailure(reason: string): Promise<void> {
  if (!ORIGIN) return;
  const { token, file } = ORIGIN;
  const { connectToControl } = await import("../takeover/index.ts");
  const { createSystemClock } = await import("../platform/clock.ts");
  try {
    const channel = await connectToControl(file, async () => null);
    await channel?.requestSoon(createSystemClock(), "report", { token, reason });
  } catch {
    // The exit code says less, but the sentence is also in the log.
  }
}
