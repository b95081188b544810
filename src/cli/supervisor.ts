// `wadi serve --processes N`: starts N servers on one port, and replaces those that end or freeze.
import { AdminError } from "../admin/index.ts";
import { findSharedPort } from "../net/index.ts";
import { type Cancel, type Clock, wait } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { isTerminal, STDERR } from "../platform/process.ts";
import type { SupervisorNotifier } from "../platform/sd-notify.ts";
import type { Settings } from "../settings/index.ts";
import { UsageError } from "./command.ts";
import { nameRole, STOP, type SupervisedMessage, type SupervisedRole } from "./supervised.ts";

/** Silence after which a server counts as frozen. */
const SILENCE_MS = 15_000;
/** Checks in a row that find it, so that its own watchdog comes first and notes the call. */
const CHECKS = 2;
const CHECK_EVERY_MS = 1_000;
/** Pause between two checks that shows that this process itself was stopped. */
const OWN_PAUSE_MS = 5_000;
/** Time of life after which an end is no failure to start. */
const LASTING_MS = 60_000;
const RETRY_MS = 500;
const RETRY_MS_MAX = 30_000;
const PROCESSES_MAX = 64;

/** Path of the program at the start, where a replacement finds the next version. */
const EXECUTABLE = process.execPath;
/** A compiled program has its script inside. */
const SCRIPT = Bun.main.startsWith("/$bunfs/") ? [] : [Bun.main];

interface SupervisedServer {
  child: Bun.Subprocess;
  isReady: boolean;
  beganAt: number;
  seenAt: number;
  silentChecks: number;
  /** Settles when it serves, or has ended. */
  settled: Promise<unknown>;
}

export interface SupervisorOptions {
  settings: Settings;
  count: number;
  /** Arguments of this process, which the servers get. */
  args: readonly string[];
  clock: Clock;
  log: Log;
  notifier: SupervisorNotifier;
}

/** Returns the exit code once all have ended; throws where several cannot be started. */
export async function runSupervisor(options: SupervisorOptions): Promise<number> {
  requireSeveral(options);
  return new Supervisor(options).run();
}

function requireSeveral({ count, settings, args }: SupervisorOptions): void {
  const { database, valkey } = settings.server;
  if (count > PROCESSES_MAX) throw new UsageError(`--processes takes 1 to ${PROCESSES_MAX}`);
  if (process.platform !== "linux") throw new UsageError("--processes works on Linux only");
  if (database === "" || valkey === "") {
    throw new UsageError("--processes needs PostgreSQL and Valkey: set `database` and `valkey`");
  }
  if (args.includes("--takeover")) {
    throw new UsageError("--processes takes over from no server: see `wadi help upgrade`");
  }
}

class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #args: readonly string[];
  readonly #servers = new Set<SupervisedServer>();
  readonly #stopped = Promise.withResolvers<void>();
  #isStopping = false;
  #code = 0;
  #checkedAt = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const port = findPort(options.settings);
    this.#args = [...withoutFlags(options.args), "--port", String(port)];
  }

  async run(): Promise<number> {
    const { count, notifier } = this.#options;
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => this.#stop());
    process.on("SIGHUP", () => this.#hangUp());
    const cancelChecks = this.#check();
    const first = this.#start("first");
    await first.settled;
    // The server itself has said why.
    if (!first.isReady) return (await first.child.exited) || 1;
    const places = [this.#keep(first)];
    const others = Array.from({ length: count - 1 }, () => this.#start("next"));
    for (const other of others) places.push(this.#keep(other));
    await Promise.all(others.map(({ settled }) => settled));
    notifier.ready();
    await Promise.all(places);
    cancelChecks();
    return this.#code;
  }

  #start(role: NonNullable<SupervisedRole>): SupervisedServer {
    const { clock } = this.#options;
    const ready = Promise.withResolvers<void>();
    const child = Bun.spawn([EXECUTABLE, ...SCRIPT, ...this.#args], {
      env: {
        ...{ ...process.env, ...nameRole(role) },
        ...{ NOTIFY_SOCKET: undefined, WATCHDOG_USEC: undefined, WATCHDOG_PID: undefined },
      },
      stdio: ["ignore", role === "first" ? "inherit" : "ignore", "inherit"],
      // Signals of a terminal reach this process, which passes them on once.
      detached: true,
      ipc: (message: SupervisedMessage) => {
        server.seenAt = clock.monotonic();
        if (message !== "ready") return;
        server.isReady = true;
        ready.resolve();
      },
    });
    const now = clock.monotonic();
    const settled = Promise.race([ready.promise, child.exited]);
    const server: SupervisedServer = {
      ...{ child, settled, isReady: false, beganAt: now, seenAt: now, silentChecks: 0 },
    };
    this.#servers.add(server);
    void child.exited.then(() => this.#servers.delete(server));
    return server;
  }

  /** Keeps one place filled until the stop. */
  async #keep(server: SupervisedServer): Promise<void> {
    const { clock, log } = this.#options;
    let failures = 0;
    for (let current = server; ; current = this.#start("next")) {
      const code = await current.child.exited;
      if (this.#isStopping) {
        this.#code ||= code === 0 ? 0 : 1;
        return;
      }
      const { pid, signalCode } = current.child;
      const reason = String(signalCode ?? `exit code ${code}`);
      log.warn("processes: a server has ended and is replaced", { pid, reason });
      failures = clock.monotonic() - current.beganAt >= LASTING_MS ? 0 : failures + 1;
      const restMs = failures < 2 ? 0 : Math.min(RETRY_MS * 2 ** failures, RETRY_MS_MAX);
      await Promise.race([wait(clock, restMs), this.#stopped.promise]);
      if (this.#isStopping) return;
    }
  }

  #check(): Cancel {
    const { clock, log } = this.#options;
    const now = clock.monotonic();
    const wasStopped = now - this.#checkedAt > OWN_PAUSE_MS;
    this.#checkedAt = now;
    for (const server of this.#servers) {
      if (wasStopped) server.seenAt = now;
      const isSilent = server.isReady && now - server.seenAt > SILENCE_MS;
      server.silentChecks = isSilent ? server.silentChecks + 1 : 0;
      if (server.silentChecks < CHECKS) continue;
      log.error("processes: a server does not answer and is ended", {
        pid: server.child.pid,
      });
      server.child.kill("SIGKILL");
    }
    let cancel = clock.after(CHECK_EVERY_MS, () => {
      cancel = this.#check();
    });
    return () => cancel();
  }

  /** Passes each signal on; a second one ends the servers at once. */
  #stop(): void {
    this.#options.notifier.stopping();
    this.#isStopping = true;
    this.#stopped.resolve();
    for (const { child, isReady } of this.#servers) {
      if (isReady) child.send(STOP);
      else child.kill("SIGTERM");
    }
  }

  #hangUp(): void {
    // The terminal was closed.
    if (process.stderr.isTTY && !isTerminal(STDERR)) {
      this.#stop();
      return;
    }
    const { notifier } = this.#options;
    notifier.reloading();
    for (const { child, isReady } of this.#servers) if (isReady) child.kill("SIGHUP");
    notifier.ready();
  }
}

function findPort({ server: { host, port } }: Settings): number {
  try {
    return findSharedPort(host, port);
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    const why = code === "EADDRINUSE" ? "is taken" : `cannot be listened on (${code})`;
    throw new AdminError(`port ${port} on ${host} ${why}: choose another with --port or --host`);
  }
}

function withoutFlags(args: readonly string[]): string[] {
  const own = /^--(processes|port)(=|$)/;
  return args.filter(
    (arg, at) => !own.test(arg) && !/^--(processes|port)$/.test(args[at - 1] ?? ""),
  );
}
