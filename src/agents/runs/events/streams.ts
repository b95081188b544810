// The event streams of this server: which run each follows, how many there are, and how they end.
import { type FindCaller, KeyRevocations } from "../../../access/index.ts";
import type { Database } from "../../../database/index.ts";
import { type EventStream, watchIdle } from "../../../http/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import { guardCallback } from "../../../platform/error-boundary.ts";
import { apiError } from "../../../platform/errors.ts";
import type { Log } from "../../../platform/log.ts";
import type { Service } from "../../../platform/service.ts";
import type { RunRow } from "../run.ts";
import type { RunStore } from "../store/index.ts";
import { FINAL } from "../transitions.ts";
import { endFrame, statusFrame, stepFrame } from "./frames.ts";
import type { LiveRuns } from "./live.ts";
import { LiveReader } from "./live-reader.ts";
import { type Listener, STEPS_AT_ONCE, Tail } from "./tail.ts";

/** agents.limits.open_event_streams */
const PER_KEY_MAX = 20;
/** agents.limits.stream_lifetime */
const LIFETIME_MS = 3_600_000;
/** Maximum unread bytes of a client that follows a tail; a slower one connects again. */
const UNREAD_BYTES_MAX = 1024 * 1024;

export interface RunStreamsOptions {
  runs: RunStore;
  database: Pick<Database, "listen">;
  live: LiveRuns;
  findCaller: FindCaller;
  clock: Clock;
  log: Log;
}

export class RunStreams implements Service {
  readonly name = "event streams";
  readonly #options: RunStreamsOptions;
  readonly #keys: KeyRevocations;
  readonly #tails = new Map<string, Tail>();
  readonly #open = new Set<RunStream>();
  readonly #unlisten: () => void;
  #isStopping = false;

  constructor(options: RunStreamsOptions) {
    this.#options = options;
    this.#keys = new KeyRevocations(options);
    // One subscription for all runs: a commit without listeners costs one look into the map.
    this.#unlisten = options.database.listen("run", (id) => {
      if (id !== null) this.#tails.get(id)?.wake();
      else for (const tail of this.#tails.values()) tail.wake();
    });
  }

  start(): void {}

  /** agents.events.stream.p3: clients connect again, to a server that is still running. */
  stop(): void {
    this.#isStopping = true;
    this.#unlisten();
    this.#keys.stop();
  }

  /** agents.events.stream.p3: clients connect again, to the server that has taken over. */
  endAll(): void {
    for (const stream of this.#open) stream.end();
  }

  count(key_id: string): number {
    return this.#keys.count(key_id);
  }

  /** `hasDeltas`: replies are sent while they are written, too. */
  open(
    key_id: string,
    run: RunRow,
    openStream: (onBug: (bug: unknown) => void) => EventStream,
    hasDeltas = false,
  ): EventStream {
    if (this.#isStopping) throw apiError("service_unavailable");
    // agents.errors.too_many_streams, agents.events.stream.p5
    if (this.count(key_id) >= PER_KEY_MAX) throw apiError("too_many_streams");
    if (hasDeltas) this.#options.live.expect(run.started_by_key_id);
    const stream = new RunStream(openStream(this.#onFailure), this.#options.clock);
    stream.onEnd(this.#keys.add(key_id, stream.end));
    this.#open.add(stream);
    stream.onEnd(() => void this.#open.delete(stream));
    this.#follow(run, stream, hasDeltas).catch((failure) => {
      this.#onFailure(failure);
      stream.end();
    });
    return stream.events;
  }

  readonly #onFailure = (failure: unknown): void => {
    this.#options.log.error("runs: events could not be read", { error: failure });
  };

  async #follow(run: RunRow, stream: RunStream, hasDeltas: boolean): Promise<void> {
    const isWhole = await this.#replay(run, stream);
    if (!isWhole || !stream.isOpen) return stream.end();
    if (FINAL.has(run.status)) {
      void stream.pass(endFrame(run));
      return stream.end();
    }
    const tail = this.#findTail(run.id);
    const reader = hasDeltas ? new LiveReader(stream, run.last_seq) : null;
    const pass: Listener["pass"] = (frames, steps) => {
      if (stream.events.countUnread() > UNREAD_BYTES_MAX) return stream.end();
      reader?.complete(steps);
      void stream.pass(frames);
      reader?.advance(listener.position.seq);
    };
    // A bug of one listener ends no other stream.
    const onBug = (bug: unknown) => {
      this.#onFailure(bug);
      stream.end();
    };
    const position = { status: run.status, seq: run.last_seq };
    const listener: Listener = { position, pass: guardCallback(onBug, pass), end: stream.end };
    stream.onEnd(() => tail.leave(listener));
    tail.join(listener);
    if (reader) stream.onEnd(this.#options.live.follow(run.id, reader.guard(onBug)));
  }

  /** agents.events.stream.p4: sends stored steps at the client's pace; false if they are gone. */
  async #replay(run: RunRow, stream: RunStream): Promise<boolean> {
    // agents.events.stream.type_run_status_status
    await stream.pass(statusFrame(run.status));
    for (let seq = 0; seq < run.last_seq; ) {
      const steps = await this.#options.runs.listSteps(run.id, seq, STEPS_AT_ONCE);
      const known = steps.filter((step) => step.seq <= run.last_seq);
      if (known.length === 0 || !stream.isOpen) return false;
      await stream.pass(known.map(stepFrame).join(""));
      seq = known.at(-1)!.seq;
    }
    return true;
  }

  #findTail(run_id: string): Tail {
    const { runs, clock } = this.#options;
    const existing = this.#tails.get(run_id);
    if (existing) return existing;
    const onEmpty = () => void this.#tails.delete(run_id);
    const tail = new Tail({ run_id, runs, clock, onFailure: this.#onFailure, onEmpty });
    this.#tails.set(run_id, tail);
    return tail;
  }
}

class RunStream {
  readonly events: EventStream;
  readonly #idle: ReturnType<typeof watchIdle>;
  readonly #cancelLifetime: () => void;
  readonly #onEnd: (() => void)[] = [];
  #isOpen = true;

  constructor(events: EventStream, clock: Clock) {
    this.events = events;
    // agents.events.stream.p2
    this.#idle = watchIdle(clock, () => events.comment("keep-alive"));
    this.#cancelLifetime = clock.after(LIFETIME_MS, this.end);
    events.left.addEventListener("abort", this.end, { once: true });
    if (events.left.aborted) this.end();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Runs `cleanUp` at the end, or at once if the stream has ended. */
  onEnd(cleanUp: () => void): void {
    if (this.#isOpen) this.#onEnd.push(cleanUp);
    else cleanUp();
  }

  pass(frames: string): void | Promise<void> {
    this.#idle.end();
    return this.events.pass(frames);
  }

  readonly end = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#idle.stop();
    this.#cancelLifetime();
    this.events.close();
    for (const cleanUp of this.#onEnd) cleanUp();
  };
}
