// A pgbouncer in transaction mode before a PostgreSQL server, with few sessions.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findClosedPort } from "./ports.ts";

export const PGBOUNCER = Bun.which("pgbouncer", { PATH: `${process.env.PATH}:/usr/sbin` });

export interface Pgbouncer extends AsyncDisposable {
  /** The address through it of a database's address. */
  through(url: string): string;
}

/** Starts it before the server of `url`; every user gets that of the address. */
export async function startPgbouncer(url: string, sessions: number): Promise<Pgbouncer> {
  const { hostname, port, username, password } = new URL(url);
  const directory = mkdtempSync(join(tmpdir(), "wadi-pgbouncer-"));
  const file = join(directory, "pgbouncer.ini");
  const own = findClosedPort();
  const secret = password ? ` password=${decodeURIComponent(password)}` : "";
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${port || 5432} user=${decodeURIComponent(username)}${secret}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${sessions}
`,
  );
  chmodSync(directory, 0o755);
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = Bun.spawn([PGBOUNCER!, ...user, file], { stdout: "ignore", stderr: "pipe" });
  let said = "";
  for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
    said += chunk;
    if (said.includes("process up")) break;
  }
  if (!said.includes("process up")) throw new Error(`pgbouncer does not start: ${said}`);
  return {
    through(database) {
      const address = new URL(database);
      address.host = `127.0.0.1:${own}`;
      return address.href;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
      rmSync(directory, { recursive: true });
    },
  };
}
