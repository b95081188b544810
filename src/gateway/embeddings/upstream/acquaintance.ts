// Finds out what kind of server a replica is, at the first need, and remembers it for a while.
import { type Failure, parseObject } from "../../../models/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { EmbeddingsSettings } from "../../../platform/settings/index.ts";
import type { Heard } from "../../shared/asking.ts";
import { isGood } from "./failure.ts";
import { type Manner, OLLAMA, STANDARD, TEI } from "./manner.ts";
import type { Talk } from "./talk.ts";

const KNOWN_MS = 600_000;
/** What it says is looked at again so soon where it had nothing to say. */
const DOUBT_MS = 10_000;

export interface Acquaintance {
  /** How a server of this kind is spoken to where nothing else is known. */
  usual: Manner;
  /** How the server is spoken to; a failure: nothing was heard of it. */
  meet(talk: Talk): Promise<Manner | Failure>;
  /** It does not behave as it said that it would. */
  forget(): void;
}

/** One question by kind, and the manner that its good answer says; null: it says none. */
interface Question {
  path: string;
  usual: Manner;
  read(reply: Readonly<Record<string, unknown>>): Manner | null;
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

export function createAcquaintance({ kind }: EmbeddingsSettings, clock: Clock): Acquaintance {
  const { path, usual, read } = QUESTIONS[kind === "tei" ? "tei" : "openai"];
  let manner = usual;
  let known_until = 0;
  const learn = ({ status, text }: Heard) => {
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
