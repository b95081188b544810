// The feed of changes tells open pages which rows have changed. Without a page it does nothing.
import { type Database, WROTE } from "../../database/index.ts";
import type { EventStream, StreamCaller } from "../../http/index.ts";
import type { Cancel, Clock } from "../../platform/clock.ts";
import { guardCallback } from "../../platform/error-boundary.ts";
import { apiError } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import { ChangeStream, type TopicChange } from "./stream.ts";
import { CHANNELS, type ChangeTopic, TOPICS, TOPICS_OF_APPROVERS, topicsOf } from "./topics.ts";

const STREAMS_MAX = 64;
/** Maximum of one operator, so that no other is kept out; tabs of a browser share one. */
const STREAMS_OF_OPERATOR_MAX = 16;
/** Time in which further changes of a topic wait for its next frame. */
const GATHER_MS = 250;
/** Interval of looks at what no commit tells of. */
const LOOK_EVERY_MS = 1_000;

const FULL = "Too many pages follow changes: close some, and try again.";

export interface ChangeFeedOptions {
  database: Pick<Database, "listen">;
  clock: Clock;
  log: Log;
  /** Writes what memory alone knows of the models, such as replicas that are down. */
  lookAtModels(): string;
}

/** Changes of a topic that wait for its next frame; none yet where `changes` is 0. */
type Gathered = Pick<TopicChange, "id" | "changes">;

export class ChangeFeed {
  readonly #options: ChangeFeedOptions;
  readonly #streams = new Map<ChangeStream, string>();
  readonly #gathered = new Map<ChangeTopic, Gathered>();
  #stopListening: Cancel[] = [];
  #cancelLook: Cancel = () => {};
  #models = "";
  #isStopping = false;

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
  }

  stop(): void {
    this.#isStopping = true;
    this.endAll();
  }

  /** Pages open their streams again, to the server that runs then. */
  endAll(): void {
    for (const stream of [...this.#streams.keys()]) stream.end();
  }

  open(
    { id, role, isInForce }: StreamCaller,
    openStream: (onBug: (bug: unknown) => void) => EventStream,
  ): EventStream {
    if (this.#isStopping) throw apiError("service_unavailable");
    const own = [...this.#streams.values()].filter((operator) => operator === id).length;
    if (this.#streams.size >= STREAMS_MAX || own >= STREAMS_OF_OPERATOR_MAX) {
      throw apiError("too_many_streams", { message: FULL });
    }
    const events = openStream(this.#onFailure);
    if (events.left.aborted) return events;
    const stream: ChangeStream = new ChangeStream({
      ...{ events, clock: this.#options.clock, isInForce, onFailure: this.#onFailure },
      topics: role === "approver" ? TOPICS_OF_APPROVERS : null,
      onEnd: () => this.#remove(stream),
    });
    if (this.#streams.size === 0) this.#listen();
    this.#streams.set(stream, id);
    return events;
  }

  readonly #onFailure = (error: unknown): void => {
    this.#options.log.error("changes: a stream failed", { error });
  };

  #remove(stream: ChangeStream): void {
    if (!this.#streams.delete(stream) || this.#streams.size > 0) return;
    for (const stop of this.#stopListening.splice(0)) stop();
    this.#cancelLook();
  }

  #listen(): void {
    const { database } = this.#options;
    const noteAll = () => {
      for (const topic of TOPICS) this.#note(topic, null);
    };
    this.#stopListening = Object.entries(CHANNELS).map(([channel, topic]) =>
      database.listen(channel, (id) => {
        if (id !== null) this.#note(topic, id);
      }),
    );
    this.#stopListening.push(
      database.listen(WROTE, (write) => {
        // Writes of another process that did not say what they are.
        if (write === null) noteAll();
        else for (const topic of topicsOf(write)) this.#note(topic, null);
      }),
    );
    this.#models = this.#options.lookAtModels();
    this.#lookLater();
  }

  #lookLater(): void {
    const look = guardCallback(this.#onFailure, () => {
      const models = this.#options.lookAtModels();
      if (models !== this.#models) this.#note("models", null);
      this.#models = models;
      this.#lookLater();
    });
    this.#cancelLook = this.#options.clock.after(LOOK_EVERY_MS, look);
  }

  #note(topic: ChangeTopic, id: string | null): void {
    const gathered = this.#gathered.get(topic);
    if (!gathered) {
      this.#send({ topic, id, changes: 1 });
      return;
    }
    const isSame = gathered.changes === 0 || gathered.id === id;
    gathered.id = isSame ? id : null;
    gathered.changes += 1;
  }

  #send(change: TopicChange): void {
    const { topic } = change;
    for (const stream of [...this.#streams.keys()]) stream.pass(change);
    this.#gathered.set(topic, { id: null, changes: 0 });
    const next = guardCallback(this.#onFailure, () => {
      const gathered = this.#gathered.get(topic)!;
      this.#gathered.delete(topic);
      if (gathered.changes > 0) this.#send({ topic, ...gathered });
    });
    this.#options.clock.after(GATHER_MS, next);
  }
}
