// An address that is listened on. Another certificate takes effect without an interruption: a
// second listener gets new connections, while replies of the first one close theirs.
import { sharePort } from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { ServerCertificate } from "../settings/index.ts";
import {
  IDLE_TIMEOUT_S,
  type ListenAddress,
  type ListenAnswers,
  type ListenOptions,
  listen,
} from "./listener.ts";

/** Time after which each connection of the first listener is closed or busy. */
const LEAVING_MS = (IDLE_TIMEOUT_S + 10) * 1_000;

export interface EndpointOptions extends ListenOptions {
  address: ListenAddress;
  clock: Clock;
  log: Log;
  certificate: ServerCertificate | null;
  /** `isLeaving` tells that a reply must close its connection. */
  createAnswers(isLeaving: () => boolean): ListenAnswers;
}

interface ServedListener {
  server: Bun.Server<undefined>;
  leave(): void;
}

export class Endpoint {
  readonly #options: EndpointOptions;
  #certificate: ServerCertificate | null;
  #wanted: ServerCertificate | null;
  #current: ServedListener;
  #leaving: ServedListener | null = null;

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.#certificate = options.certificate;
    this.#wanted = options.certificate;
    this.#current = this.#open(options.shared);
  }

  /** Answers for requests of all endpoints and listeners. */
  get server(): Bun.Server<undefined> {
    return this.#current.server;
  }

  get address(): ListenAddress {
    return { host: this.#options.address.host, port: this.server.port! };
  }

  get url(): string {
    const { host, port } = this.address;
    const scheme = this.#certificate ? "https" : "http";
    return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
  }

  get pendingRequests(): number {
    return this.#listServers().reduce((sum, { pendingRequests }) => sum + pendingRequests, 0);
  }

  /** Lets a server that takes over listen on this address; false where that is impossible. */
  share(): boolean {
    // Among three listeners the choice of the newest one would fail.
    this.#closeLeaving();
    this.#wanted = this.#certificate;
    return sharePort(this.address.port);
  }

  /** Returns false where the one before stays in force, at least for now; the log tells why. */
  changeCertificate(certificate: ServerCertificate | null): boolean {
    this.#wanted = certificate;
    if (!this.#leaving) this.#apply();
    const isServed = Bun.deepEquals(certificate, this.#certificate);
    if (this.#leaving && !isServed) {
      this.#options.log.info("http: another certificate waits until the last change is complete");
    }
    return isServed;
  }

  #apply(): void {
    const { log, clock } = this.#options;
    const before = this.#certificate;
    if (Bun.deepEquals(this.#wanted, before)) return;
    if (!sharePort(this.address.port)) {
      log.warn("http: another certificate needs a restart on this system");
      return;
    }
    this.#certificate = this.#wanted;
    try {
      const next = this.#open([this.address]);
      this.#current.leave();
      this.#leaving = this.#current;
      this.#current = next;
      // Without a choice of the newest it would get new connections, too.
      if (this.#options.isCommon) void this.#leaving.server.stop();
    } catch (error) {
      this.#certificate = before;
      log.error("http: another certificate failed, the one before stays", { error });
      return;
    }
    log.info("http: new connections get another certificate");
    clock.after(LEAVING_MS, () => {
      this.#closeLeaving();
      this.#apply();
    });
  }

  /** Accepts no more connections, and waits for open ones unless `isForced`. */
  async stop(isForced = false): Promise<void> {
    this.#wanted = this.#certificate;
    await Promise.all(this.#listServers().map((server) => server.stop(isForced)));
  }

  /** Requests in progress end as usual. */
  #closeLeaving(): void {
    void this.#leaving?.server.stop();
    this.#leaving = null;
  }

  #listServers(): Bun.Server<undefined>[] {
    return [this.#current, this.#leaving].flatMap((one) => one?.server ?? []);
  }

  #open(shared: ListenOptions["shared"]): ServedListener {
    const { address, settings, createAnswers, isCommon } = this.#options;
    let isLeaving = false;
    const answers = createAnswers(() => isLeaving);
    const options = { settings, shared, isCommon, certificate: this.#certificate };
    const server = listen(address, answers, options);
    const leave = () => {
      isLeaving = true;
    };
    return { server, leave };
  }
}
