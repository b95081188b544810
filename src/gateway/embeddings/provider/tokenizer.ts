// Lets a server tell the tokens of a text, by whichever of its routes it turns out to have.
import type { UpstreamError } from "../../../models/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import { classifyEmbeddingError, isGood, isRouteAbsent } from "./failure.ts";
import type { ReplicaClient } from "./replica-client.ts";
import type { TokenIds, TokenRoute } from "./token-route.ts";

/** What a server was found to have, or not to have, is looked at again after so long. */
const KNOWN_MS = 600_000;
/** One letter, and one token or two in every vocabulary. */
const PROBE = "a";

export interface Tokenizer {
  /** The ids of a whole text with those around it; null: the server does not tell any. */
  tell(talk: ReplicaClient, text: string): Promise<TokenIds | null | UpstreamError>;
  /** How many of them stand behind every text; asked only of who has told some. */
  measureTail(talk: ReplicaClient): Promise<number | UpstreamError>;
}

interface Known {
  /** null: it has none. */
  route: TokenRoute | null;
  /** null: it was not needed yet. */
  tail: number | null;
  until: number;
}

/** The first of these routes that tells ids is the server's. */
export function createTokenizer(
  routes: readonly TokenRoute[],
  model: string,
  clock: Clock,
): Tokenizer {
  let known: Known | null = null;
  const learn = (route: TokenRoute | null) => {
    known = { route, tail: null, until: clock.monotonic() + KNOWN_MS };
  };
  /** null: the server has no such route, or none that takes this form of body. */
  const ask = async (
    talk: ReplicaClient,
    { path, write, read }: TokenRoute,
    text: string,
    framed = true,
  ) => {
    const heard = await talk.post(path, write(model, text, framed));
    if (!heard.ok) return heard;
    if (isGood(heard.status)) return read(heard.text);
    return isRouteAbsent(heard.status) ? null : classifyEmbeddingError(heard);
  };
  const find = async (
    talk: ReplicaClient,
    text: string,
  ): Promise<TokenIds | null | UpstreamError> => {
    let isTold = true;
    for (const route of routes) {
      const told = await ask(talk, route, text);
      if (told === null) continue;
      if (!("ok" in told)) {
        learn(route);
        return told;
      }
      // Who refuses may do so for a body of another form, and says nothing of its routes.
      if (told.code !== "upstream_error" && told.code !== "model_unavailable") return told;
      if (told.upstreamStatus === undefined) return told;
      isTold = false;
    }
    if (isTold) learn(null);
    return null;
  };
  return {
    async tell(talk, text) {
      if (!known || clock.monotonic() >= known.until) return find(talk, text);
      if (known.route === null) return null;
      // What it had may be gone: it may have become another server.
      return (await ask(talk, known.route, text)) ?? find(talk, text);
    },
    async measureTail(talk) {
      if (!known?.route) return 0;
      if (known.tail !== null) return known.tail;
      const asked = known;
      const framed = await ask(talk, known.route, PROBE);
      if (framed === null || "ok" in framed) return framed ?? 0;
      const bare = await ask(talk, known.route, PROBE, false);
      if (bare === null || "ok" in bare) return bare ?? 0;
      asked.tail = countTail(framed, bare);
      return asked.tail;
    },
  };
}

/** What stands behind the text's own ids; 0 where those are not found. */
function countTail(framed: TokenIds, bare: TokenIds): number {
  const around = framed.length - bare.length;
  for (let lead = 0; lead <= around; lead++) {
    if (bare.every((id, at) => framed[lead + at] === id)) return around - lead;
  }
  return 0;
}
