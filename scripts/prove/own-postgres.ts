// A PostgreSQL of the proof's own, which it restarts and freezes.
import { chownSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findClosedPort } from "../../test/support/ports.ts";
import { makeScratch } from "../bench/stage.ts";

const LIBRARY = "/usr/lib/postgresql";

export interface OwnPostgres {
  url: string;
  /** Kills it and starts it again; resolves when it takes connections. */
  restart(): Promise<void>;
  /** Freezes or wakes all of its processes. */
  signal(name: "SIGSTOP" | "SIGCONT"): void;
  stop(): Promise<void>;
}

export const readUser = (name: string): [uid: number, gid: number] => {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((one) => one.startsWith(`${name}:`));
  if (line === undefined) throw new Error(`there is no user ${name}`);
  const [, , uid, gid] = line.split(":");
  return [Number(uid), Number(gid)];
};

/** PostgreSQL refuses to run as root. Signals reach it, since `setpriv` is replaced by it. */
export const AS_POSTGRES =
  process.getuid?.() === 0
    ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]
    : [];

/** Directory of the newest PostgreSQL's programs. */
export const findPrograms = (): string => {
  const [version] = readdirSync(LIBRARY).sort((a, b) => Number(b) - Number(a));
  return join(LIBRARY, version!, "bin");
};

/** Signals the server of a data directory, and all of its processes. */
export const signalServer = (data: string, name: NodeJS.Signals): void => {
  const parent = Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]);
  const listed = () => readFileSync(`/proc/${parent}/task/${parent}/children`, "utf8");
  // A frozen parent makes no more children.
  if (name === "SIGKILL") process.kill(parent, "SIGSTOP");
  else process.kill(parent, name);
  for (const pid of listed().trim().split(" ").map(Number)) process.kill(pid, name);
  if (name === "SIGKILL") process.kill(parent, name);
};

const run = async (command: readonly string[]): Promise<void> => {
  const child = Bun.spawn([...AS_POSTGRES, ...command], { stdio: ["ignore", "ignore", "inherit"] });
  const code = await child.exited;
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}`);
};

export const startOwnPostgres = async (): Promise<OwnPostgres> => {
  const bin = (name: string) => join(findPrograms(), name);
  const scratch = makeScratch();
  if (AS_POSTGRES.length > 0) chownSync(scratch, ...readUser("postgres"));
  const data = join(scratch, "data");
  const port = findClosedPort();
  const control = (...verb: string[]) => {
    const options = `-p ${port} -c unix_socket_directories=${scratch} -c max_connections=200`;
    const log = join(scratch, "log");
    return run([bin("pg_ctl"), ...verb, "-D", data, "-w", "-l", log, "-o", options]);
  };
  await run([bin("initdb"), "-D", data, "-A", "trust", "-U", "postgres", "--no-sync"]);
  await control("start");
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    restart: () => control("restart", "-m", "immediate"),
    signal: (name) => signalServer(data, name),
    stop: () => control("stop", "-m", "immediate"),
  };
};
