// Tells systemd how the service is, as sd_notify(3) does; elsewhere nothing is sent.
import { ptr } from "bun:ffi";
import type { Clock } from "./clock.ts";
import { openLibc } from "./libc.ts";

const AF_UNIX = 1;
const SOCK_DGRAM_CLOEXEC = 0x80002;
const MSG_NOSIGNAL = 0x4000;
const CLOCK_MONOTONIC = 1;
const MICROSECONDS_A_MS = 1_000;

export interface SupervisorNotifier {
  ready(): void;
  /** The settings are read again; `ready` follows. */
  reloading(): void;
  stopping(): void;
  /** Names the process that goes on with the service. */
  replaced(pid: number): void;
}

/** `NOTIFY_SOCKET` and `WATCHDOG_USEC` are read from `env`. */
export function createSupervisorNotifier(
  clock: Clock,
  env: Readonly<Record<string, string | undefined>> = process.env,
): SupervisorNotifier {
  const send = openSocket(env.NOTIFY_SOCKET);
  const watchdogMs = Number(env.WATCHDOG_USEC ?? 0) / MICROSECONDS_A_MS;
  // Half the interval leaves time for a busy event loop.
  const beat = () => {
    send("WATCHDOG=1");
    clock.after(watchdogMs / 2, beat);
  };
  let isReady = false;
  return {
    ready() {
      send("READY=1");
      if (!isReady && watchdogMs > 0) beat();
      isReady = true;
    },
    reloading: () => send(`RELOADING=1\nMONOTONIC_USEC=${readMonotonicUs()}`),
    stopping: () => send("STOPPING=1"),
    replaced: (pid) => send(`MAINPID=${pid}`),
  };
}

/** The system's clock, which systemd compares; the runtime's begins with the process. */
function readMonotonicUs(): bigint {
  const libc = openLibc({ clock_gettime: { args: ["i32", "ptr"], returns: "i32" } });
  const [seconds, nanoseconds] = [0, 1];
  const time = new BigInt64Array(2);
  libc?.clock_gettime(CLOCK_MONOTONIC, time);
  return time[seconds]! * 1_000_000n + time[nanoseconds]! / 1_000n;
}

function openSocket(path: string | undefined): (text: string) => void {
  const libc = path
    ? openLibc({
        socket: { args: ["i32", "i32", "i32"], returns: "i32" },
        sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "u32"], returns: "i64" },
      })
    : null;
  if (!path || !libc) return () => {};
  const descriptor = libc.socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0);
  // An "@" names an abstract socket, whose first byte is 0.
  const name = Buffer.from(path.startsWith("@") ? `\0${path.slice(1)}` : `${path}\0`);
  const address = Buffer.concat([new Uint8Array(2), name]);
  address.writeUInt16LE(AF_UNIX, 0);
  return (text) => {
    const bytes = Buffer.from(text);
    libc.sendto(descriptor, ptr(bytes), bytes.length, MSG_NOSIGNAL, ptr(address), address.length);
  };
}
