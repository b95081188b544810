// Requests that wait for a run: an event stream with progress, which ends with the answer.
import { type FindCaller, KeyRevocations } from "../../access/index.ts";
import type { Database } from "../../database/index.ts";
import { type EventStream, openEventStream, watchIdle } from "../../http/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { apiError } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import type { Service } from "../../platform/service.ts";
import { type NextPass, WorkerLoop } from "../../platform/worker-loop.ts";
import type { RunStore } from "../runs/store/index.ts";
import type { RunPosition } from "../runs/store/reads.ts";
import type { Status } from "../runs/transitions.ts";

/** The maximum of event streams of a key, too. */
const PER_KEY_MAX = 20;

const UNREAD_MAX = 16 * 1024;

export interface McpWaitsOptions {
  runs: Pick<RunStore, "findPosition">;
  database: Pick<Database, "listen">;
  findCaller: FindCaller;
  clock: Clock;
  log: Log;
}

export interface McpWait {
  key_id: string;
  run_id: string;
  signal: AbortSignal;
  request_id: string;
  timeoutMs: number;
  /** Reports that the run has come far enough. */
  isOver(status: Status): boolean;
  /** Writes a message of progress, which is counted from 1; null: the client wants none. */
  writeProgress: ((count: number, status: Status) => Promise<string>) | null;
  writeAnswer(): Promise<string>;
}

export class McpWaits implements Service {
  readonly name = "waits of MCP clients";
  readonly #options: McpWaitsOptions;
  readonly #keys: KeyRevocations;
  readonly #open = new Map<string, Set<OpenMcpWait>>();
  readonly #unlisten: () => void;
  #isStopping = false;

  constructor(options: McpWaitsOptions) {
    this.#options = options;
    this.#keys = new KeyRevocations(options);
    this.#unlisten = options.database.listen("run", (id) => {
      for (const wait of id === null ? this.#listAll() : (this.#open.get(id) ?? [])) wait.wake();
    });
  }

  start(): void {}

  stop(): void {
    this.#isStopping = true;
    this.#unlisten();
    this.endAll();
    // The server waits for the connections of those that are still answered.
    const answers = Promise.all(this.#listAll().map((wait) => wait.over));
    void answers.then(() => this.#keys.stop());
  }

  /** Answers every client with where its run stands; the next server goes on with the run. */
  endAll(): void {
    for (const wait of this.#listAll()) wait.giveUp();
  }

  count(key_id: string): number {
    return this.#keys.count(key_id);
  }

  /** Throws before a run starts for which its client could not wait. */
  requirePlace(key_id: string): void {
    if (this.#isStopping) throw apiError("service_unavailable");
    if (this.count(key_id) >= PER_KEY_MAX) throw apiError("too_many_streams");
  }

  answer(wait: McpWait): Response {
    this.requirePlace(wait.key_id);
    const open = new OpenMcpWait(this.#options, wait);
    const all = this.#open.get(wait.run_id) ?? new Set();
    this.#open.set(wait.run_id, all.add(open));
    const forget = this.#keys.add(wait.key_id, () => open.end());
    open.onEnd = () => {
      forget();
      all.delete(open);
      if (all.size === 0) this.#open.delete(wait.run_id);
    };
    open.wake();
    return open.events.answer(200, { "x-request-id": wait.request_id });
  }

  #listAll(): OpenMcpWait[] {
    return [...this.#open.values()].flatMap((waits) => [...waits]);
  }
}

class OpenMcpWait {
  readonly events: EventStream;
  readonly #over = Promise.withResolvers<void>();
  onEnd: () => void = () => {};
  readonly #options: McpWaitsOptions;
  readonly #wait: McpWait;
  readonly #loop: WorkerLoop;
  readonly #idle: ReturnType<typeof watchIdle>;
  readonly #cancel: () => void;
  #last: RunPosition | undefined;
  #progress = 0;
  #isGivenUp = false;
  #isOpen = true;

  constructor(options: McpWaitsOptions, wait: McpWait) {
    const { clock } = options;
    this.#options = options;
    this.#wait = wait;
    this.events = openEventStream(wait.signal, (bug) => this.#fail(bug));
    this.#loop = new WorkerLoop({
      clock,
      work: () => this.#look(),
      onError: (failure) => this.#fail(failure),
      retryMs: 0,
    });
    this.#idle = watchIdle(clock, () => this.events.comment("keep-alive"));
    this.#cancel = clock.after(wait.timeoutMs, () => this.giveUp());
    this.events.left.addEventListener("abort", () => this.end(), { once: true });
  }

  get over(): Promise<void> {
    return this.#over.promise;
  }

  wake(): void {
    this.#loop.wake();
  }

  giveUp(): void {
    this.#isGivenUp = true;
    this.wake();
  }

  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#idle.stop();
    this.#cancel();
    this.events.close();
    this.onEnd();
    this.#over.resolve();
  }

  async #look(): Promise<NextPass> {
    const { run_id, isOver, writeAnswer } = this.#wait;
    const now = await this.#options.runs.findPosition(run_id);
    if (!this.#isOpen) return "on_wake";
    if (!now || this.#isGivenUp || isOver(now.status)) {
      const answer = await writeAnswer();
      void this.events.send(answer);
      this.end();
      return "on_wake";
    }
    await this.#tell(now);
    return "on_wake";
  }

  async #tell(now: RunPosition): Promise<void> {
    const last = this.#last;
    if (last?.status === now.status && last.last_seq === now.last_seq) return;
    this.#last = now;
    // A client that reads slowly misses progress, and gets the answer.
    if (this.events.countUnread() > UNREAD_MAX) return;
    const message = await this.#wait.writeProgress?.(++this.#progress, now.status);
    if (message === undefined) return;
    this.#idle.end();
    void this.events.send(message);
  }

  #fail(failure: unknown): void {
    this.#options.log.error("mcp: a run could not be waited for", { error: failure });
    this.end();
  }
}
