// The embeddings route with a scripted embedder.

import type { Embed, Embedder } from "../../../src/gateway/embeddings/contract.ts";
import { openEmbeddings } from "../../../src/gateway/embeddings/routes.ts";
import { InFlight } from "../../../src/gateway/in-flight.ts";
import type { LogEntry } from "../../../src/gateway/request-log/entry.ts";
import { GatewayRecorder } from "../../../src/gateway/request-log/recorder.ts";
import { createTrustedEgress } from "../../../src/net/index.ts";
import { createLog } from "../../../src/platform/log.ts";
import { readSettings } from "../../../src/settings/index.ts";
import { caller, createTestServer } from "../../http/test-server.ts";
import { createManualClock } from "../../support/clock.ts";

export const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const traceparent = `00-${TRACE_ID}-b7ad6b7169203331-01`;

export type EmbedEnding = Awaited<ReturnType<Embed>>;

/** One vector for each input, whose first number is the input's index. */
export function embedInputs(inputs: readonly string[]): EmbedEnding {
  const vectors = inputs.map((_, n) => Float32Array.of(n));
  return { ok: true, vectors, prompt_tokens: 7, attempts: 1 };
}

const NO_BUDGETS = {
  check: async () => {},
  reserve: async () => null,
  writeHeaders: async () => ({}),
};

/** `lines` belong to the table of embeddings; each account is its own bearer token. */
export function openFront(embed: Embed, lines = "") {
  const clock = createManualClock();
  const running = new InFlight();
  const lines_logged: Record<string, unknown>[] = [];
  const log = createLog(clock, (line) => void lines_logged.push(JSON.parse(line)), false);
  const entries: LogEntry[] = [];
  const countTokens = () => 7;
  const embedder: Embedder = { isDown: () => false, start() {}, stop() {}, embed, countTokens };
  const settings = readSettings(`[embeddings]\n${lines}`, "wadi.toml", {}, {}).embeddings;
  const meter = {
    open: (request: ConstructorParameters<typeof GatewayRecorder>[1]) =>
      new GatewayRecorder(
        {
          route: "embeddings",
          clock,
          drawId: () => String(entries.length),
          take: (entry) => void entries.push(entry),
        },
        request,
      ),
  };
  const egress = createTrustedEgress({ clock });
  const http = createTestServer(
    (router) =>
      openEmbeddings(router, {
        settings,
        meter,
        budgets: NO_BUDGETS,
        running,
        clock,
        log,
        egress,
        open: () => embedder,
      }),
    {
      clock,
      log,
      identify: async (account_id) => ({ ...caller, account_id, scopes: ["embeddings"] }),
    },
  );
  return {
    clock,
    running,
    entries,
    lines: lines_logged,
    /** POST /v1/embeddings of an account. */
    ask(body: unknown = { input: "Hello" }, account = "a", signal?: AbortSignal) {
      const headers = { authorization: account, "x-request-id": `of-${account}`, traceparent };
      const init = { headers, body: JSON.stringify(body), signal };
      return http.ask("POST", "/v1/embeddings", init);
    },
  };
}
