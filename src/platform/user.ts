// Who runs the program, by the name that the system knows them by.

/** By its whole path: what stands in PATH, and in USER, is for anybody to choose. */
const ASK = ["/usr/bin/id", "-un"];

/** `root`; of a user whom the system has no name for, or cannot be asked about: `uid 1000`. */
export function nameUser(): string {
  return askSystem() || `uid ${process.getuid?.() ?? "unknown"}`;
}

function askSystem(): string {
  try {
    const { success, stdout } = Bun.spawnSync(ASK, { env: {}, stdin: "ignore", stderr: "ignore" });
    return success ? stdout.toString().trim() : "";
  } catch {
    return "";
  }
}
