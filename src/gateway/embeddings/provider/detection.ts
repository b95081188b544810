// Finds out what kind of server a replica is, at the first need, and remembers it for a while.
import { parseObject, type UpstreamError } from "../../../models/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { EmbeddingsSettings } from "../../../settings/index.ts";
import type { ServerReply } from "../../metered/client.ts";
import { isGood } from "./failure.ts";
import { type EmbeddingProtocol, OLLAMA, STANDARD, TEI } from "./protocol.ts";
import type { ReplicaClient } from "./replica-client.ts";

const KNOWN_MS = 600_000;
/** What it says is looked at again so soon where it had nothing to say. */
const DOUBT_MS = 10_000;

export interface ServerDetection {
  /** How a server of this kind is spoken to where nothing else is known. */
  usual: EmbeddingProtocol;
  /** How the server is spoken to; a failure: nothing was heard of it. */
  meet(talk: ReplicaClient): Promise<EmbeddingProtocol | UpstreamError>;
  /** It does not behave as it said that it would. */
  forget(): void;
}

/** One question by kind, and the manner that its good answer says; null: it says none. */
interface Question {
  path: string;
  usual: EmbeddingProtocol;
  read(reply: Readonly<Record<string, unknown>>): EmbeddingProtocol | null;
}

const QUESTIONS: Readonly<Record<"openai" | "tei", Question>> = {
  openai: {
    path: "/api/version",
    usual: STANDARD,
    read: ({ version }) => (typeof version === "string" ? OLLAMA : null),
  },
  tei: {
    path: "/info",
    usual: TEI,
    read: ({ max_client_batch_size: most }) =>
      Number.isSafeInteger(most) && (most as number) > 0
        ? { ...TEI, batch_max: most as number }
        : null,
  },
};

export function createServerDetection({ kind }: EmbeddingsSettings, clock: Clock): ServerDetection {
  const { path, usual, read } = QUESTIONS[kind === "tei" ? "tei" : "openai"];
  let manner = usual;
  let known_until = 0;
  const learn = ({ status, text }: ServerReply) => {
    // A server that is ill, or that loads its model, has not said what it is.
    const isTelling = status < 500 && status !== 429;
    manner = (isGood(status) ? read(parseObject(text) ?? {}) : null) ?? usual;
    known_until = clock.monotonic() + (isTelling ? KNOWN_MS : DOUBT_MS);
  };
  return {
    usual,
    async meet(talk) {
      if (clock.monotonic() < known_until) return manner;
      const heard = await talk.get(path);
      if (!heard.ok) return heard;
      learn(heard);
      return manner;
    },
    forget() {
      known_until = 0;
    },
  };
}
