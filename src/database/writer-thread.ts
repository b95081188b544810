// The writer Worker's side of SQLite: commits all waiting writes in one group.
import type { Database as Connection } from "bun:sqlite";
import { realpathSync, statSync } from "node:fs";
import { GROUP_CALLS_MAX, GroupCommit } from "./group-commit.ts";
import { checkPages } from "./page-checks.ts";
import { createRegistry, type Registry, type WriteCall } from "./registry.ts";
import { openConnection, watchVersion } from "./sqlite.ts";
import type { Store } from "./store.ts";
import { type FromWriter, pack, type ToWriter, unpack, writeReply } from "./writer-protocol.ts";

const WATCH_EVERY_MS = 200;

interface Port {
  postMessage(message: FromWriter): void;
  onmessage: ((event: { data: ToWriter }) => void) | null;
}

export function serveWrites(stores: readonly Store[]): void {
  const port = globalThis as unknown as Port;
  const registry = createRegistry(stores);
  let writer: WriterThread | undefined;
  port.onmessage = ({ data }) => {
    if ("open" in data) writer = new WriterThread(port, registry, data.open);
    // A check has a thread of its own, which writes nothing.
    else if ("check" in data) port.postMessage(checkPages(data.check));
    else if ("calls" in data) writer?.add(unpack(data.calls));
    else writer?.close();
  };
}

class WriterThread {
  readonly #port: Port;
  readonly #connection: Connection;
  readonly #group: GroupCommit;
  readonly #waiting: WriteCall[] = [];
  #isRunning = false;
  #isClosing = false;
  /** The files were replaced: further writes would be lost. */
  #isLost = false;

  constructor(port: Port, registry: Registry, file: string) {
    this.#port = port;
    this.#connection = openConnection(file);
    this.#group = new GroupCommit(this.#connection, registry);
    this.#watch();
  }

  add(calls: readonly WriteCall[]): void {
    this.#waiting.push(...calls);
    // Runs after the messages that have arrived, so that their calls share one fsync.
    if (!this.#isRunning) setImmediate(() => this.#run());
    this.#isRunning = true;
  }

  close(): void {
    this.#isClosing = true;
    if (!this.#isRunning) this.#end();
  }

  async #run(): Promise<void> {
    if (this.#isLost) return;
    const calls = this.#waiting.splice(0, GROUP_CALLS_MAX);
    const { outcomes, notifications } = await this.#group.commit(calls);
    const replies = outcomes.map(writeReply);
    this.#port.postMessage({ committed: pack({ replies, notifications }) });
    this.#isRunning = this.#waiting.length > 0;
    if (this.#isRunning) setImmediate(() => this.#run());
    else if (this.#isClosing) this.#end();
  }

  #end(): void {
    this.#group.close();
    this.#connection.close(true);
    this.#port.postMessage({ closed: true });
  }

  #watch(): void {
    const findReplaced = watchFiles(this.#connection.filename);
    const hasNewVersion = watchVersion(this.#connection);
    const hasForeignWrites = () => {
      try {
        return hasNewVersion();
      } catch {
        return false;
      }
    };
    setInterval(() => {
      if (this.#isClosing || this.#isLost) return;
      const lost = findReplaced();
      this.#isLost = lost !== null;
      if (lost !== null) this.#port.postMessage({ lost });
      else if (hasForeignWrites()) this.#port.postMessage({ foreign: true });
    }, WATCH_EVERY_MS);
  }
}

/**
 * Remembers the files of an open database; the returned function names the first that was replaced
 * or removed. SQLite itself keeps writing into a file without a name.
 */
function watchFiles(file: string): () => string | null {
  // SQLite puts the other two beside the target of a link.
  const real = realpathSync(file);
  const noted = [file, `${real}-wal`, `${real}-shm`].map((path) => ({
    path,
    identity: identify(path),
  }));
  return () => {
    const lost = noted.find(({ path, identity }) => {
      const found = identify(path);
      return found !== "unknown" && found !== identity;
    });
    return lost?.path ?? null;
  };
}

function identify(path: string): string {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? "removed" : "unknown";
  }
}
