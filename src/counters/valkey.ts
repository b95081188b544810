// A connection to Valkey. No call waits for a connection, and none outlasts its deadline.
import { createSystemClock, settlesWithin, yieldToEventLoop } from "../platform/clock.ts";

/** Longer than a server pauses when it forks to save its data. */
const CALL_MS = 250;
/** Lateness of a timer that shows a busy event loop, which has not read the reply either. */
const BUSY_MS = 5;
const TURNS = 3;
/** Deadlines of one call on a busy event loop, which a silent server must not hold for ever. */
const DEADLINES_MAX = 3;
const CONNECT_MS = 500;

/** Replies of a server that takes no writes: it is full, a replica, or without its replicas. */
const REFUSALS = /^(OOM|READONLY|NOREPLICAS|MISCONF|NOPERM|MASTERDOWN)\b/;
/** Answer of a script that was refused, as where the counters are lost. */
const REFUSED = -1;

export interface Script {
  text: string;
  hash: string;
}

export function script(text: string): Script {
  return { text, hash: new Bun.CryptoHasher("sha1").update(text).digest("hex") };
}

const PROBE = script("redis.call('SET',KEYS[1],'','PX',1000) return 0");

export class Valkey {
  readonly #url: string;
  /** Key that shows by a write that the server takes writes. */
  readonly #probe: string;
  readonly #callMs: number;
  /** The network is real where the clock of a test is not. */
  readonly #clock = createSystemClock();
  #client: Bun.RedisClient | null = null;
  #server: string | null = null;

  constructor(url: string, probe: string, callMs = CALL_MS) {
    this.#url = url;
    this.#probe = probe;
    this.#callMs = callMs;
  }

  get isConnected(): boolean {
    return this.#client?.connected === true && this.#server !== null;
  }

  /**
   * Connects where needed, and returns the run id of the server; null: it is away, slow, or takes
   * no writes.
   */
  async reach(): Promise<string | null> {
    try {
      if (!this.#client?.connected) await this.#connect();
      const text = await this.#within(this.#client!.send("INFO", ["server"]));
      this.#server = /^run_id:(\w+)/m.exec(String(text))?.[1] ?? null;
      if ((await this.run(PROBE, [this.#probe], [])) !== 0) this.close();
    } catch {
      this.close();
    }
    return this.#server;
  }

  /**
   * Runs a script that returns a number; null: no answer; negative: the server refuses it. A
   * failure ends the connection, and what was under way may have been done.
   */
  async run({ text, hash }: Script, keys: readonly string[], args: readonly (string | number)[]) {
    const client = this.#client;
    if (!client?.connected) return null;
    const rest = [String(keys.length), ...keys, ...args.map(String)];
    const call = client.send("EVALSHA", [hash, ...rest]).catch((failure) => {
      // A server that was restarted knows no script.
      if (!String(failure?.message).startsWith("NOSCRIPT")) throw failure;
      return client.send("EVAL", [text, ...rest]);
    });
    try {
      return Number(await this.#within(call));
    } catch (failure) {
      if (client === this.#client) this.close();
      return REFUSALS.test(String((failure as Error).message)) ? REFUSED : null;
    }
  }

  close(): void {
    this.#client?.close();
    this.#client = null;
    this.#server = null;
  }

  async #connect(): Promise<void> {
    this.close();
    const client = new Bun.RedisClient(this.#url, {
      ...{ autoReconnect: false, enableOfflineQueue: false, maxRetries: 0 },
      connectionTimeout: CONNECT_MS,
    });
    this.#client = client;
    await client.connect();
  }

  async #within<T>(call: Promise<T>): Promise<T> {
    let hasEnded = false;
    const end = () => {
      hasEnded = true;
    };
    const ended = call.then(end, end);
    for (let isBusy = true, n = 0; isBusy && n < DEADLINES_MAX; n++) {
      const startedAt = this.#clock.monotonic();
      await settlesWithin(this.#clock, this.#callMs, ended);
      // Timers come before replies that were not read yet.
      for (let turns = 0; turns < TURNS && !hasEnded; turns++) await yieldToEventLoop();
      if (hasEnded) return call;
      isBusy = this.#clock.monotonic() - startedAt > this.#callMs + BUSY_MS;
    }
    throw new Error("Valkey did not answer in time");
  }
}
