// The ways in which a connection can fail, each brought about without leaving the machine.
import { dlopen } from "bun:ffi";
import { readdirSync } from "node:fs";

/** Descriptor limit of the server, an eighth of which is reserved for its own connections. */
export const MOST_DESCRIPTORS = 192;
const RESERVE = MOST_DESCRIPTORS / 8;

export interface Failure {
  name: string;
  /** `host:port` that everything outside is named by. */
  host: string;
  /** Created once the server is up, and undone before it ends. */
  begin?(pid: number): void;
  end?(pid: number): void;
}

/** `isApart`: in a network of our own, out of which nothing leads. */
export const listFailures = (isApart: boolean): Failure[] => [
  // The broadcast of loopback: the system refuses it before it returns.
  { name: "inside the call", host: "127.255.255.255:8000" },
  // Reserved for documentation, and nothing routes there.
  ...(isApart ? [{ name: "no route", host: "198.51.100.7:8000" }] : []),
  { name: "no descriptors", host: serveWell(), begin: takeDescriptors, end: giveDescriptors },
  { name: "refused", host: "127.0.0.1:1" },
  { name: "black hole", host: listenDeaf() },
  { name: "reset", host: listenReset() },
  { name: "no DNS", host: "nowhere.invalid:8000" },
];

/** Answers everything, once a connection; the server of a unit is asleep. */
const serveWell = (): string => {
  const headers = { connection: "close" };
  const answer = ({ url }: Request) => {
    const status = new URL(url).pathname === "/asleep" ? 503 : 200;
    return Response.json({}, { status, headers });
  };
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });
  return `127.0.0.1:${server.port}`;
};

const listenReset = (): string => {
  const socket = { data: (one: Bun.Socket) => void one.terminate() };
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket });
  return `127.0.0.1:${listener.port}`;
};

const AF_INET = 2;
const SOCK_STREAM = 1;

/** A full queue for one connection: the system drops all others. */
const listenDeaf = (): string => {
  const { symbols: libc } = dlopen("libc.so.6", {
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
    listen: { args: ["i32", "i32"], returns: "i32" },
    getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
  });
  const address = new Uint8Array(16);
  const view = new DataView(address.buffer);
  view.setUint16(0, AF_INET, true);
  address.set([127, 0, 0, 1], 4);
  const hole = libc.socket(AF_INET, SOCK_STREAM, 0);
  if (libc.bind(hole, address, address.length) !== 0) throw new Error("no port is free");
  libc.listen(hole, 0);
  // The system has chosen a port.
  libc.getsockname(hole, address, new Uint32Array([address.length]));
  const port = view.getUint16(2);
  const socket = { data: () => undefined };
  Bun.connect({ hostname: "127.0.0.1", port, socket }).catch(() => undefined);
  return `127.0.0.1:${port}`;
};

const limitDescriptors = (pid: number, most: number): void => {
  Bun.spawnSync(["prlimit", "--pid", `${pid}`, `--nofile=${most}:`]);
};

/** No descriptor is free below the limit or in the reserve; open ones stay. */
const takeDescriptors = (pid: number): void => {
  const taken = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let free = 0;
  while (taken.has(free)) free++;
  limitDescriptors(pid, Math.max(0, free - RESERVE));
};

const giveDescriptors = (pid: number): void => limitDescriptors(pid, MOST_DESCRIPTORS - RESERVE);
