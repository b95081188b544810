// An embedder with scripted servers and a manual clock.
import { afterEach, expect } from "bun:test";
import { openEmbedder } from "../../../../src/gateway/embeddings/backend.ts";
import type { Embedded, EmbedRequest } from "../../../../src/gateway/embeddings/contract.ts";
import type { UpstreamError } from "../../../../src/models/index.ts";
import { createTrustedEgress } from "../../../../src/net/index.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { readSettings } from "../../../../src/settings/index.ts";
import { createManualClock } from "../../../support/clock.ts";
import {
  type EmbeddingRoutes,
  type EmbeddingServer,
  startEmbeddingServer,
} from "../../../support/embedding-servers.ts";

/** Some servers, such as llama-cpp-python, accept only a UUID as id. */
export const REQUEST_ID = "019aa7e4-2c00-7000-8000-0123456789ab";
export const TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/** The importing test's resources are closed after each test. */
const undone: (() => unknown)[] = [];
afterEach(async () => {
  for (const undo of undone.splice(0).reverse()) await undo();
});

function whenDone(undo: () => unknown): void {
  undone.push(undo);
}

export function serve(routes: EmbeddingRoutes): EmbeddingServer {
  const server = startEmbeddingServer(routes);
  whenDone(server.stop);
  return server;
}

export interface Connected {
  clock: ReturnType<typeof createManualClock>;
  log: string[];
  start(): void;
  isDown(): boolean;
  embed(inputs: readonly string[], signal?: AbortSignal): Promise<Embedded | UpstreamError>;
}

/** `lines` belong to the table of embeddings. */
export function connect(urls: readonly string[], lines = "", kind = "openai"): Connected {
  const clock = createManualClock();
  const egress = createTrustedEgress({ clock });
  const written: string[] = [];
  const text = `[embeddings]\nkind = "${kind}"\nurls = ${JSON.stringify(urls)}\n${lines}\n`;
  const { embeddings } = readSettings(text, "wadi.toml", {}, {});
  const log = createLog(clock, (line) => written.push(line), false);
  const embedder = openEmbedder(embeddings, { egress, clock, log })!;
  whenDone(() => {
    embedder.stop();
    egress.close();
  });
  const ask = { request_id: REQUEST_ID, trace: { traceparent: TRACE }, account: "a" };
  return {
    ...{ clock, log: written, start: embedder.start, isDown: embedder.isDown },
    embed: (inputs, signal = new AbortController().signal) =>
      embedder.embed({ ...ask, inputs } as EmbedRequest, signal),
  };
}

export async function expectGood(asked: Promise<Embedded | UpstreamError>): Promise<Embedded> {
  const embedded = await asked;
  if (!embedded.ok) throw new Error(`${embedded.code}: ${embedded.reason}`);
  for (const vector of embedded.vectors) {
    expect(vector.length).toBe(1024);
    expect(Math.abs(Math.hypot(...vector) - 1)).toBeLessThan(1e-6);
  }
  return embedded;
}

export async function expectFailure(
  asked: Promise<Embedded | UpstreamError>,
): Promise<UpstreamError> {
  const failure = await asked;
  if (failure.ok) throw new Error("it did not fail");
  return failure;
}

export const bodiesOf = ({ asked }: EmbeddingServer, name: string) =>
  asked.filter((one) => one.name === name).map(({ body }) => body);

/** A text with this number of words, which differ from those of other texts. */
export const writeText = (count: number, name = "w") =>
  Array.from({ length: count }, (_, at) => `${name}${at % 97}`).join(" ");
