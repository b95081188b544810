// Numbers of processes: whom one names here, and whether a container ends with this process.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface Processes {
  /** Name of the namespace in which a number names one process; null where it is unknown. */
  readonly namespace: string | null;
  /** Tells if a container may end with this process, although others go on in it. */
  endsContainer(): boolean;
  /** Ends a process and all below it, such as the program of a script. */
  kill(pid: number): void;
}

/** Namespace of the machine itself: a constant of the kernel. */
const MACHINE = "pid:[4026531836]";
/** First processes that go on when a service ends. */
const INIT_SYSTEMS = ["systemd", "init"];

export function openProcesses(proc = "/proc"): Processes {
  const namespace = readOr(null, () => readlinkSync(`${proc}/self/ns/pid`));
  return {
    namespace,
    endsContainer() {
      if (namespace === null || namespace === MACHINE) return false;
      const first = readOr("init", () => readFileSync(`${proc}/1/comm`, "utf8").trim());
      if (INIT_SYSTEMS.includes(first)) return false;
      // In a pod, the first process of each container looks like one that was started later.
      return first === "pause" || !wasAdded(proc);
    },
    kill(pid) {
      for (const one of listTree(proc, pid)) {
        try {
          process.kill(one, "SIGKILL");
        } catch {
          // The process has ended already.
        }
      }
    },
  };
}

/** Lists a process and those below it; one that hangs begins no other meanwhile. */
function listTree(proc: string, pid: number): number[] {
  const names = readOr([], () => readdirSync(proc)).filter((name) => /^\d+$/.test(name));
  const stats = names.map((name) => readStat(proc, name));
  const tree = [pid];
  for (const above of tree) {
    tree.push(...stats.flatMap(({ pid, parent }) => (parent === above ? [pid] : [])));
  }
  return tree;
}

/** Tells if this process is known to be no part of what the container was started for. */
function wasAdded(proc: string): boolean {
  const { parent, session } = readStat(proc, "self");
  // A parent or session outside the namespace has the number 0.
  if (parent === 0 || session <= 1) return false;
  // A program that `docker exec` adds leads a session; below it, nothing waits for this process.
  return readStat(proc, String(session)).parent === 0;
}

function readStat(proc: string, name: string) {
  const stat = readOr("", () => readFileSync(`${proc}/${name}/stat`, "utf8"));
  // The name before may hold anything.
  const [, parent, , session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { pid: Number.parseInt(stat, 10), parent: Number(parent), session: Number(session) };
}

function readOr<T>(fallback: T, read: () => T): T {
  try {
    return read();
  } catch {
    return fallback;
  }
}
