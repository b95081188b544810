// SQLite with its writes in a Worker, whatever waits in one group; reads on the main thread.
import type { Database as Connection } from "bun:sqlite";
import { ApiError, type ErrorCode, type ErrorDetails } from "../platform/errors.ts";
import type { Bus } from "./bus.ts";
import { type CommitCounter, openCommitCounter } from "./commit-counter.ts";
import { DatabaseLost } from "./errors.ts";
import { noteIdentities } from "./file-identity.ts";
import { commitGroup, GROUP_CALLS_MAX, type WriteCall, type WriteOutcome } from "./group.ts";
import { type Inspected, inspectPages } from "./integrity.ts";
import { createReads } from "./reader.ts";
import { createExecutor, openConnection, watchVersion } from "./sqlite.ts";
import type { DatabaseEngine, Notification, Store } from "./store.ts";
import { createRegistry } from "./transaction.ts";
import { decodeWire, encodeWire, type WireValue } from "./wire-value.ts";

/**
 * How often the Worker looks whether another process wrote (the command line beside a server), and
 * whether the files are still there.
 */
const LOOK_EVERY_MS = 200;

/** A result as it crosses the Worker: an Error would lose its fields there. */
type Reply =
  | { value?: unknown }
  | { refusal: { code: ErrorCode; say: ErrorDetails } }
  | { bug: { message: string; stack?: string; code?: string } };
type Answers = { replies: Reply[]; told: Notification[] };
type ToWorker =
  | { open: string }
  | { check: string }
  | { calls: WireValue<WriteCall[]> }
  | { close: true };
type FromWorker =
  | { answers: WireValue<Answers> }
  | { foreign: true }
  /** The path of a file that is no longer the one that was opened. */
  | { lost: string }
  | Inspected
  | { closed: true };

/** The Worker's side: serves the writes of `stores`; called by the binary's second entry point. */
export function serveWrites(stores: readonly Store[]): void {
  const registry = createRegistry(stores);
  const port = globalThis as unknown as {
    postMessage(message: FromWorker): void;
    onmessage: ((event: { data: ToWorker }) => void) | null;
  };
  const waiting: WriteCall[] = [];
  let connection: Connection;
  let tx: ReturnType<typeof createExecutor>;
  let counter: CommitCounter | null;
  let isRunning = false;
  let isClosing = false;
  /** The files are gone: nothing more is written where nobody would find it. */
  let isLost = false;

  const run = async () => {
    if (isLost) return;
    const calls = waiting.splice(0, GROUP_CALLS_MAX);
    const { outcomes, told } = await commitGroup(connection, tx, registry, counter, calls);
    port.postMessage({ answers: encodeWire({ replies: outcomes.map(writeReply), told }) });
    isRunning = waiting.length > 0;
    if (isRunning) setImmediate(run);
    else if (isClosing) close();
  };
  const close = () => {
    counter?.close();
    connection.close(true);
    port.postMessage({ closed: true });
  };
  const watch = () => {
    const findLost = noteIdentities(connection.filename);
    const findForeign = watchVersion(connection);
    setInterval(() => {
      if (isClosing || isLost) return;
      const lost = findLost();
      isLost = lost !== null;
      if (lost !== null) return port.postMessage({ lost });
      if (findForeign()) port.postMessage({ foreign: true });
    }, LOOK_EVERY_MS);
  };
  port.onmessage = ({ data }) => {
    if ("open" in data) {
      connection = openConnection(data.open);
      tx = createExecutor(connection);
      counter = openCommitCounter(connection);
      watch();
    } else if ("check" in data) {
      // A thread of its own, which writes nothing.
      port.postMessage(inspectPages(data.check));
    } else if ("calls" in data) {
      waiting.push(...decodeWire(data.calls));
      // Behind the messages that have arrived by now, so that their calls share one fsync.
      if (!isRunning) setImmediate(run);
      isRunning = true;
    } else {
      isClosing = true;
      if (!isRunning) close();
    }
  };
}

/** The main thread's side: `connection` has been migrated and serves the reads from now on. */
export function createWriterEngine(
  connection: Connection,
  script: URL,
  bus: Bus,
  onDeath: (failure: Error) => void,
): DatabaseEngine {
  connection.run("PRAGMA query_only = ON");
  const read = createReads(connection);
  const worker = new Worker(script);
  const sent: ((reply: Reply) => void)[] = [];
  let unsent: WriteCall[] = [];
  /** Why nothing more is written. */
  let end: Error | undefined;
  let isOver = false;
  const over = Promise.withResolvers<void>();

  const stop = (why: Error) => {
    end = why;
    isOver = true;
    for (const answer of sent.splice(0)) answer({ bug: why });
    worker.terminate();
    over.resolve();
  };
  const die = (why: Error) => {
    if (isOver) return;
    stop(why);
    // Without a writer nothing can be kept: the process must go.
    onDeath(why);
  };
  const dieOf = (message: string) => die(new Error(`the writer died: ${message}`));
  worker.onmessage = ({ data }: { data: FromWorker }) => {
    if ("answers" in data) {
      const { replies, told } = decodeWire(data.answers);
      for (const reply of replies) sent.shift()!(reply);
      bus.publish(told);
    } else if ("foreign" in data) bus.publishUnknown();
    else if ("lost" in data) die(new DatabaseLost(data.lost));
    else if ("closed" in data) stop(end!);
  };
  // Bun's message shows the source around the fault; its own line is enough.
  worker.onerror = ({ message }) => dieOf(/^\w*error: .*/im.exec(message)?.[0] ?? message);
  worker.addEventListener("close", () => dieOf("its thread ended"));
  const post = (message: ToWorker) => worker.postMessage(message);
  const send = () => {
    const calls = unsent;
    unsent = [];
    try {
      post({ calls: encodeWire(calls) });
    } catch (failure) {
      // Arguments that are no plain data cannot cross; this turn's calls are the last that wait.
      for (const answer of sent.splice(-calls.length)) answer({ bug: failure as Error });
    }
  };
  post({ open: connection.filename });

  return {
    name: "sqlite",
    read,
    write(store, method, args) {
      if (end) return Promise.reject(end);
      // One message a turn: what is asked for together is sent, and committed, together.
      if (unsent.length === 0) queueMicrotask(send);
      unsent.push({ store, method, args });
      return new Promise((resolve, reject) => {
        sent.push((reply) => readReply(reply, resolve, reject));
      });
    },
    async close() {
      end ??= new Error("the database is closed");
      // In a microtask, behind the writes of this turn.
      queueMicrotask(() => post({ close: true }));
      await over.promise;
    },
  };
}

function writeReply(outcome: WriteOutcome): Reply {
  // Nothing is left out, for JSON has no word for it.
  if (outcome.ok) return outcome.value === undefined ? {} : { value: outcome.value };
  const failure = outcome.failure;
  if (failure instanceof ApiError) return { refusal: { code: failure.code, say: failure.say } };
  const { message, stack, code } = failure as Error & { code?: string };
  return { bug: { message, stack, code } };
}

function readReply(
  reply: Reply,
  resolve: (value: unknown) => void,
  reject: (why: unknown) => void,
) {
  if ("refusal" in reply) return reject(new ApiError(reply.refusal.code, reply.refusal.say));
  if (!("bug" in reply)) return resolve(reply.value);
  const { message, stack, code } = reply.bug;
  reject(Object.assign(new Error(message), { stack: stack ?? message, code }));
}
