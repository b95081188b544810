// Detection of a server's kind at its first use, kept for a while.
import { isGood, type UpstreamError } from "../../../models/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import { parseObject } from "../../../platform/json.ts";
import type { EmbeddingsSettings } from "../../../settings/index.ts";
import { type EmbeddingProtocol, OLLAMA, STANDARD, TEI } from "./protocol.ts";
import type { ReplicaClient } from "./replica-client.ts";

const KNOWN_MS = 600_000;
/** Time until a server that failed or was loading is asked again. */
const UNSURE_MS = 10_000;

interface KindProbe {
  path: string;
  usual: EmbeddingProtocol;
  read(reply: Readonly<Record<string, unknown>>): EmbeddingProtocol | null;
}

const PROBES: Readonly<Record<"openai" | "tei", KindProbe>> = {
  openai: {
    path: "/api/version",
    usual: STANDARD,
    read: ({ version }) => (typeof version === "string" ? OLLAMA : null),
  },
  tei: {
    path: "/info",
    usual: TEI,
    read: ({ max_client_batch_size: batchMax }) =>
      Number.isSafeInteger(batchMax) && (batchMax as number) > 0
        ? { ...TEI, batchMax: batchMax as number }
        : null,
  },
};

export class ServerDetection {
  readonly #clock: Clock;
  readonly #probe: KindProbe;
  #protocol: EmbeddingProtocol;
  #knownUntil = 0;

  constructor({ kind }: EmbeddingsSettings, clock: Clock) {
    this.#clock = clock;
    this.#probe = PROBES[kind === "tei" ? "tei" : "openai"];
    this.#protocol = this.#probe.usual;
  }

  get usual(): EmbeddingProtocol {
    return this.#probe.usual;
  }

  async find(client: ReplicaClient): Promise<EmbeddingProtocol | UpstreamError> {
    if (this.#clock.monotonic() < this.#knownUntil) return this.#protocol;
    const { path, usual, read } = this.#probe;
    const reply = await client.get(path);
    if (!reply.ok) return reply;
    const { status, text } = reply;
    this.#protocol = (isGood(status) ? read(parseObject(text) ?? {}) : null) ?? usual;
    const isSure = status < 500 && status !== 429;
    this.#knownUntil = this.#clock.monotonic() + (isSure ? KNOWN_MS : UNSURE_MS);
    return this.#protocol;
  }

  /** The server behaves unlike its kind: the next use detects again. */
  forget(): void {
    this.#knownUntil = 0;
  }
}
