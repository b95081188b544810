// Exchanges the replies under way with other processes by Valkey's publish and subscribe. A process
// publishes only replies that another one asked for. The executable holds this file packed, so it
// imports no module with shared state.
import { createSystemClock, settlesWithin, yieldToEventLoop } from "../../../platform/clock.ts";
import { guardCallback } from "../../../platform/error-boundary.ts";
import type { Log } from "../../../platform/log.ts";
import type { Service } from "../../../platform/service.ts";
import { type NextPass, WorkerLoop } from "../../../platform/worker-loop.ts";
import type { deltaFrame, LiveSnapshot } from "./frames.ts";
import type { LiveFollower, LiveRuns, OtherReplies } from "./live.ts";
import { LiveMirror, type ReplyNews } from "./live-mirror.ts";
import { Outlets } from "./live-outlet.ts";

/** Interval at which a process repeats what it asks for, and tests its connection. */
const RENEW_EVERY_MS = 2_000;
/** Intervals after which what a process asked for ends, unless it repeats it. */
const ASKS_LAST = 4;
/** Time for which one read keeps asking for a run. */
const READ_LASTS_MS = 5_000;
/** Maximum runs that a process asks for. */
const ASKED_MAX = 10_000;
const CONNECT_MS = 500;

export interface SharedLiveOptions {
  url: string;
  /** Id of the data: other installations may use the same Valkey. */
  installation: string;
  /** Name of this process among the others. */
  id: string;
  live: Pick<LiveRuns, "attach" | "isExecuting">;
  writeDelta: typeof deltaFrame;
  log: Log;
  renewEveryMs?: number;
}

interface LiveAsk {
  from: string;
  runs: string[];
  /** `new`: the process has nothing of them; `all`: it asks for no others. */
  are: "new" | "all";
  /** The process has connected again: what it told before has ended. */
  isFresh?: boolean;
}

interface Link {
  subscriber: Bun.RedisClient;
  publisher: Bun.RedisClient;
}

export class SharedLive implements Service, OtherReplies {
  readonly name = "live text";
  readonly #options: SharedLiveOptions;
  readonly #renewEveryMs: number;
  /** The network is real where the clock of a test is not. */
  readonly #clock = createSystemClock();
  readonly #loop: WorkerLoop;
  readonly #mirrors = new Map<string, LiveMirror>();
  readonly #readers = new Map<string, Outlets & { isTelling?: boolean }>();
  readonly #asked = new Set<string>();
  #link: Link | null = null;
  #isFresh = true;
  #isHeard = true;
  #isWarned = false;

  constructor(options: SharedLiveOptions) {
    this.#options = options;
    this.#renewEveryMs = options.renewEveryMs ?? RENEW_EVERY_MS;
    this.#loop = new WorkerLoop({
      clock: this.#clock,
      work: () => this.#look(),
      onError: this.#onBug,
      retryMs: this.#renewEveryMs,
    });
  }

  readonly #onBug = (error: unknown): void => {
    this.#options.log.error("runs: live text of other processes failed", { error });
  };

  start(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#lose(this.#link);
  }

  follow(run_id: string, follower: LiveFollower): () => void {
    const mirror = this.#mirror(run_id);
    mirror.followers.add(follower);
    const { live } = this.#options;
    if (mirror.reply && !live.isExecuting(run_id)) follower.onBegin(mirror.reply);
    return () => {
      mirror.followers.delete(follower);
      this.#forgetUnused(run_id, mirror);
    };
  }

  read(run_id: string): LiveSnapshot | undefined {
    const mirror = this.#mirror(run_id);
    mirror.readUntil = this.#clock.monotonic() + READ_LASTS_MS;
    return mirror.reply?.read();
  }

  #mirror(run_id: string): LiveMirror {
    const existing = this.#mirrors.get(run_id);
    if (existing) return existing;
    const mirror = new LiveMirror();
    this.#mirrors.set(run_id, mirror);
    this.#askFor(run_id);
    return mirror;
  }

  #forgetUnused(run_id: string, { followers, readUntil }: LiveMirror): void {
    const isUsed = followers.size > 0 || readUntil > this.#clock.monotonic();
    if (!isUsed) this.#mirrors.delete(run_id);
  }

  /** Asks for all of a run, together with the others of this turn. */
  #askFor(run_id: string): void {
    if (this.#asked.add(run_id).size > 1) return;
    void yieldToEventLoop().then(() => {
      const runs = this.#listElsewhere(this.#asked);
      this.#asked.clear();
      if (runs.length > 0) this.#ask({ runs, are: "new" });
    });
  }

  #listElsewhere(runs: Iterable<string>): string[] {
    const { live } = this.#options;
    return [...runs].filter((run) => !live.isExecuting(run)).slice(0, ASKED_MAX);
  }

  #ask(ask: Omit<LiveAsk, "from">): void {
    const link = this.#link;
    if (!link) return;
    const text = JSON.stringify({ from: this.#options.id, ...ask } satisfies LiveAsk);
    link.publisher.publish(this.#channel("asks"), text).catch(() => this.#lose(link));
  }

  /** The number tells versions apart that do not understand each other. */
  #channel(name: string): string {
    return `wadi:{${this.#options.installation}}:live-1:${name}`;
  }

  /** One look at the connection, and at those who ask and no longer ask. */
  async #look(): Promise<NextPass> {
    // Each process hears what it asks for itself.
    if (!this.#isHeard) this.#lose(this.#link);
    if (!this.#link) await this.#connect();
    const now = this.#clock.monotonic();
    for (const [run, mirror] of this.#mirrors) this.#forgetUnused(run, mirror);
    for (const [id, reader] of this.#readers) {
      if (now - reader.heardAt > ASKS_LAST * this.#renewEveryMs) this.#drop(id, reader);
    }
    if (this.#link) {
      this.#isHeard = false;
      const runs = this.#listElsewhere(this.#mirrors.keys());
      this.#ask({ runs, are: "all", isFresh: this.#isFresh });
      this.#isFresh = false;
    }
    return { inMs: this.#renewEveryMs };
  }

  async #connect(): Promise<void> {
    const { url, log } = this.#options;
    const open = () =>
      new Bun.RedisClient(url, {
        ...{ autoReconnect: false, enableOfflineQueue: false, maxRetries: 0 },
        connectionTimeout: CONNECT_MS,
      });
    const link: Link = { subscriber: open(), publisher: open() };
    const { subscriber, publisher } = link;
    this.#isHeard = true;
    try {
      // A server that is frozen takes connections, and answers nothing.
      const isOpen = await settlesWithin(this.#clock, CONNECT_MS, this.#open(link));
      if (!isOpen) throw new Error("Valkey did not answer in time");
    } catch (error) {
      subscriber.close();
      publisher.close();
      if (!this.#isWarned) log.warn("valkey: replies of other servers come whole", { error });
      this.#isWarned = true;
      return;
    }
    this.#link = link;
    this.#isFresh = true;
    this.#isWarned = false;
    // Asks of others may have been heard before there was a link for the answers.
    for (const id of this.#readers.keys()) void this.#tell(id);
    for (const client of [subscriber, publisher]) client.onclose = () => this.#lose(link);
  }

  async #open({ subscriber, publisher }: Link): Promise<void> {
    const hear = (take: (text: string) => void) => guardCallback(this.#onBug, take);
    await Promise.all([subscriber.connect(), publisher.connect()]);
    await subscriber.subscribe(this.#channel("asks"), hear(this.#onAsk));
    await subscriber.subscribe(this.#channel(this.#options.id), hear(this.#onNews));
  }

  /** Without the connection there is no live text of others; stored events go on. */
  #lose(link: Link | null): void {
    if (!link || link !== this.#link) return;
    this.#link = null;
    this.#isHeard = true;
    link.subscriber.close();
    link.publisher.close();
    for (const [id, reader] of this.#readers) this.#drop(id, reader);
    for (const mirror of this.#mirrors.values()) mirror.end();
  }

  #drop(id: string, reader: Outlets): void {
    this.#readers.delete(id);
    reader.keep(new Set());
  }

  readonly #onAsk = (text: string): void => {
    const { from, runs, are, isFresh } = JSON.parse(text) as LiveAsk;
    if (from === this.#options.id) {
      this.#isHeard = true;
      return;
    }
    if (isFresh) {
      for (const mirror of this.#mirrors.values()) mirror.end(false, from);
      const asked = this.#listElsewhere(this.#mirrors.keys());
      if (asked.length > 0) this.#ask({ runs: asked, are: "all" });
    }
    let reader = this.#readers.get(from);
    if (!reader) {
      if (runs.length === 0) return;
      reader = new Outlets(this.#options.live, () => void this.#tell(from));
      this.#readers.set(from, reader);
    }
    reader.heardAt = this.#clock.monotonic();
    reader.add(runs, are === "new");
    if (are === "all") reader.keep(new Set(runs));
  };

  /** Tells a process what it asked for, one message at a time. */
  async #tell(id: string): Promise<void> {
    const reader = this.#readers.get(id);
    if (!reader || reader.isTelling) return;
    reader.isTelling = true;
    // The pieces of a turn of the event loop are one message.
    await yieldToEventLoop();
    const link = this.#link;
    try {
      while (link && link === this.#link && reader.hasNews) {
        const news = reader.take();
        if (news === "") continue;
        const text = `{"from":${JSON.stringify(this.#options.id)},"news":[${news}]}`;
        const heard = await link.publisher.publish(this.#channel(id), text);
        if (heard === 0) this.#drop(id, reader);
      }
    } catch {
      this.#lose(link);
    }
    reader.isTelling = false;
  }

  readonly #onNews = (text: string): void => {
    const { from, news } = JSON.parse(text) as { from: string; news: ReplyNews[] };
    const { live, writeDelta } = this.#options;
    for (const one of news) {
      const mirror = this.#mirrors.get(one.run);
      if (!mirror || live.isExecuting(one.run)) continue;
      if (!mirror.take(from, one, writeDelta)) this.#askFor(one.run);
    }
  };
}
