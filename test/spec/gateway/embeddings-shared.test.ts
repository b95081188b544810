// Spec 000, embeddings in front of a server: its failures, the capacity that all share, and leaving.
import { describe, expect, test } from "bun:test";
import { KEY, startApp, type TestApp, type TestAppOptions } from "../../support/app.ts";
import {
  type EmbeddingServer,
  startEmbeddingServer,
  vllm,
} from "../../support/embedding-servers.ts";
import { CANARY } from "../../support/reply-faults.ts";
import { readRefusal } from "./refusal.ts";

const PATH = "/v1/embeddings";
const POST = "POST /v1/embeddings";

interface Front extends TestApp, AsyncDisposable {
  server: EmbeddingServer;
  embed(options?: Parameters<TestApp["post"]>[2]): Promise<Response>;
  /** Resolves when this many requests for vectors have reached the server. */
  reached(count: number): Promise<void>;
}

/** `lines` are added to the table of embeddings. */
async function startFront(lines = "", options: TestAppOptions = {}): Promise<Front> {
  const server = startEmbeddingServer(vllm());
  const around = `[embeddings]\nkind = "openai"\nurls = ["${server.url}"]\nhealth_every = "0s"\n`;
  const app = await startApp({ settings: `${around}${lines}`, ...options });
  return {
    ...app,
    server,
    embed: (askOptions) => app.post(PATH, { input: "Hello" }, askOptions),
    async reached(count) {
      while (server.asked.filter(({ name }) => name === POST).length < count) {
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    async [Symbol.asyncDispose]() {
      await app.stop();
      await server.stop();
    },
  };
}

/** Summary of a reply, with its headers on retries. */
const readOutcome = async (response: Response) => {
  const waits = ["x-should-retry", "retry-after"].map((name) => response.headers.get(name));
  if (response.status === 200) return [200, ...waits];
  expect(await response.clone().text()).not.toContain("canary");
  const [status, code] = await readRefusal(response);
  return [status, code, ...waits];
};

/** The server holds every request for vectors; each is answered by what is returned. */
function holdAll({ server }: Front): (() => void)[] {
  const held: (() => void)[] = [];
  server.instead = ({ name }) =>
    name === POST ? new Promise<void>((resolve) => held.push(resolve)) : undefined;
  return held;
}

describe("gateway.endpoints.embeddings.p4 gateway.errors.headers.x_should_retry", () => {
  test("gateway.endpoints.embeddings.p4 gateway.errors.upstream_error a 502 says that work was done", async () => {
    await using front = await startFront();
    const answers = [
      () => Response.json({ error: { message: CANARY } }, { status: 500 }),
      () => new Response(CANARY),
      () => Response.json({ object: "list", data: [] }),
    ];
    for (const answer of answers) {
      front.server.instead = ({ name }) => (name === POST ? answer() : undefined);
      expect(await readOutcome(await front.embed())).toEqual([
        502,
        "upstream_error",
        "false",
        null,
      ]);
    }
    expect(JSON.stringify(front.lines)).not.toContain("canary");
  });

  test("gateway.endpoints.embeddings.p4 gateway.errors.upstream_timeout so does a 504", async () => {
    await using front = await startFront('timeout = "5s"');
    holdAll(front);
    const reply = front.embed();
    await front.reached(1);
    await front.clock.advance(5_000);
    expect(await readOutcome(await reply)).toEqual([504, "upstream_timeout", "false", null]);
  });

  test("gateway.errors.service_unavailable a 503 does not: no work was done", async () => {
    await using front = await startFront();
    const headers = { "retry-after": "7" };
    front.server.instead = ({ name }) =>
      name === POST ? Response.json({ error: CANARY }, { status: 429, headers }) : undefined;
    const busy = await readOutcome(await front.embed());
    expect(busy).toEqual([503, "service_unavailable", null, "7"]);
    await front.server.stop();
    const gone = await readOutcome(await front.embed());
    expect(gone).toEqual([503, "service_unavailable", null, null]);
  });
});

test("gateway.limits.shared_capacity gateway.errors.capacity_exceeded a request without a free slot is refused, even under its own limit", async () => {
  await using front = await startFront("max_concurrent = 1\nmax_queued = 0");
  const held = holdAll(front);
  const first = front.embed();
  await front.reached(1);
  const refused = await front.embed({ key: `${KEY}-other` });
  expect(await readOutcome(refused)).toEqual([429, "capacity_exceeded", null, "1"]);
  // Other routes keep their capacity.
  expect((await front.chat("Hello")).status).toBe(201);
  held[0]!();
  expect(await readOutcome(await first)).toEqual([200, null, null]);
  front.server.instead = () => undefined;
  expect(await readOutcome(await front.embed({ key: `${KEY}-other` }))).toEqual([200, null, null]);
});

test("gateway.limits.shared_capacity a request in the short queue is answered in its turn", async () => {
  await using front = await startFront("max_concurrent = 1\nmax_queued = 1");
  const held = holdAll(front);
  const first = front.embed();
  await front.reached(1);
  const second = front.embed({ key: `${KEY}-other` });
  held[0]!();
  expect((await first).status).toBe(200);
  await front.reached(2);
  held[1]!();
  expect((await second).status).toBe(200);
});

test("gateway.errors.client_closed_request a caller that leaves is logged, and its request to the server is aborted", async () => {
  await using front = await startFront();
  const aborted = Promise.withResolvers<void>();
  front.server.instead = ({ name, signal }) => {
    if (name !== POST) return undefined;
    signal.addEventListener("abort", () => aborted.resolve());
    return new Promise(() => {});
  };
  const leaving = new AbortController();
  const reply = front.embed({ signal: leaving.signal });
  await front.reached(1);
  leaving.abort();
  await reply;
  expect(await front.logged("client_closed_request")).toMatchObject({
    level: "info",
    status: 499,
    route: "POST /v1/embeddings",
  });
  await aborted.promise;
});

test("gateway.errors.service_unavailable a request that waits at the end of a stop may retry", async () => {
  await using front = await startFront("", { listens: true });
  holdAll(front);
  const reply = front.embed();
  await front.reached(1);
  const stopping = front.app.stop(5_000);
  await front.clock.advance(5_000);
  await front.clock.advance(1_000);
  await stopping;
  expect(await readOutcome(await reply)).toEqual([503, "service_unavailable", null, null]);
});
