// Several replicas and their failures, which callers should notice as little as possible.
import { describe, expect, test } from "bun:test";
import { KEY, startApp, type TestApp } from "../../support/app.ts";
import {
  type Fault,
  type FaultProxy,
  STREAM_HEAD,
  sayAndStay,
  startFaultProxy,
  writeChunk,
} from "../../support/fault-proxy.ts";
import {
  answerFrames,
  answerText,
  DONE,
  type ScriptedUpstream,
  startUpstream,
  writeFrame,
} from "../../support/upstream.ts";
import { collect, readOutcome } from "./faults.ts";
import { expectRefusal } from "./front.ts";

const BEGUN = STREAM_HEAD + writeChunk(writeFrame({ role: "assistant", content: "Hel" }));
const WHOLE = '201 "Hello" stop';

interface Replicated extends TestApp, AsyncDisposable {
  /** A proxy before each server; servers take turns, beginning with the first. */
  proxies: FaultProxy[];
  upstreams: ScriptedUpstream[];
}

interface ReplicaLines {
  /** Lines of the upstream's table. */
  lines?: string;
  self_hosted?: boolean;
  /** The first server's health reply. */
  health?: number;
  /** Fault for every request to the first server, health checks included. */
  fault?: Fault;
}

async function startReplicas(count: number, some: ReplicaLines = {}): Promise<Replicated> {
  const { lines = "", self_hosted = true, health = 200, fault = null } = some;
  const upstreams = Array.from({ length: count }, () =>
    startUpstream(({ body }) =>
      body.stream
        ? answerFrames([writeFrame({ content: "Hello" }, "stop"), DONE])
        : answerText("Hello"),
    ),
  );
  const proxies = upstreams.map(({ url }) => startFaultProxy(url));
  upstreams[0]!.health = health;
  proxies[0]!.fault = fault;
  const settings = `
[limits]
requests_per_minute = 1_000_000
[[models]]
id = "test-1"
self_hosted = ${self_hosted}
capabilities = ["tools", "streaming"]
[models.upstream]
kind = "openai"
urls = ${JSON.stringify(proxies.map(({ url }) => url))}
${lines}
`;
  const app = await startApp({ settings, listens: true });
  const stop = async () => {
    await app.stop();
    for (const proxy of proxies) proxy.stop();
    for (const upstream of upstreams) await upstream.stop();
  };
  return { ...app, proxies, upstreams, stop, [Symbol.asyncDispose]: stop };
}

const countRequests = ({ upstreams }: Replicated) => upstreams.map(({ asked }) => asked.length);

/** Lets sockets and the clock run until something has become true. */
async function until({ clock }: Replicated, isSo: () => boolean): Promise<void> {
  while (!isSo()) await clock.advance(1);
}

const UNWATCHED = { lines: 'health_every = "0s"' };

describe("one replica of two is killed", () => {
  for (const stream of [false, true]) {
    test(`during prefill: the other one answers${stream ? ", also for a stream" : ""}`, async () => {
      await using front = await startReplicas(2, UNWATCHED);
      const [first] = front.proxies;
      first!.fault = () => first!.refuse();
      expect(await readOutcome(await front.chat("Hi", { stream }))).toBe(WHOLE);
      expect(first!.connections.map(({ requests }) => requests)).toEqual([1]);
      expect(countRequests(front)).toEqual([0, 1]);
      // It stays down, and callers still see no error.
      for (let n = 0; n < 20; n++) {
        expect(await readOutcome(await front.chat("Hi", { stream }))).toBe(WHOLE);
      }
    });
  }

  test("gateway.events.4 in the middle of a stream: the stream ends with an error", async () => {
    await using front = await startReplicas(2, UNWATCHED);
    const [first] = front.proxies;
    first!.fault = sayAndStay(BEGUN);
    const response = await front.chat("Hi", { stream: true });
    const received = collect(response);
    await received.until('"Hel"');
    first!.refuse();
    expect(await readOutcome(await received.whole())).toBe('201 "Hel" upstream_error');
    expect(countRequests(front)).toEqual([0, 0]);
  });
});

test("a replica that hangs uses up the time limit, and no other is tried", async () => {
  await using front = await startReplicas(2, {
    lines: `${UNWATCHED.lines}\nfirst_token_timeout = "10s"`,
  });
  for (const proxy of front.proxies) proxy.fault = () => {};
  const replied = front.chat("Hi");
  await until(front, () => front.proxies[0]!.connections[0]?.requests === 1);
  await front.clock.advance(10_000);
  await expectRefusal(await replied, 504, "upstream_timeout");
  expect(front.proxies[1]!.connections).toEqual([]);
});

describe("a server that fails its health check", () => {
  const down = ({ lines }: Replicated) =>
    lines.some(({ message }) => String(message).includes("not healthy"));
  const status = async (front: Replicated) => {
    const { data } = (await (await front.get("/v1/models")).json()) as { data: object[] };
    return data.map((model) => (model as { status: string }).status);
  };

  test("gateway.errors.model_offline takes its model offline, and brings it back", async () => {
    await using front = await startReplicas(1);
    expect(await readOutcome(await front.chat("Hi"))).toBe(WHOLE);
    front.proxies[0]!.refuse();
    await front.clock.advance(10_000);
    await until(front, () => down(front));
    await expectRefusal(await front.chat("Hi", { model: "test-1" }), 503, "model_offline");
    await expectRefusal(await front.chat("Hi"), 503, "no_model_available");
    expect(await status(front)).toEqual(["offline", "offline"]);
    expect((await front.get("/readyz")).status).toBe(503);
    expect(front.lines.at(-1)).toMatchObject({
      level: "warn",
      model: "test-1",
      upstream: `127.0.0.1:${front.proxies[0]!.port}`,
    });
    front.proxies[0]!.restore();
    await front.clock.advance(2_000);
    await until(front, () => front.lines.at(-1)!.message === "replica: healthy again");
    expect(await status(front)).toEqual(["on", "on"]);
    expect(await readOutcome(await front.chat("Hi", { model: "test-1" }))).toBe(WHOLE);
  });

  test("or is still loading, gets no requests while another replica can take them", async () => {
    await using front = await startReplicas(2, { health: 503 });
    await until(front, () => down(front));
    for (let n = 0; n < 4; n++) expect(await readOutcome(await front.chat("Hi"))).toBe(WHOLE);
    expect(countRequests(front)).toEqual([0, 4]);
    front.upstreams[0]!.health = 200;
    await until(front, () => front.lines.length === 2);
    for (let n = 0; n < 4; n++) await front.chat("Hi");
    expect(countRequests(front)).toEqual([2, 6]);
  });
});

describe("the health check", () => {
  /** The first two that a server sees, with the operator's own header. */
  const listChecks = async (some: ReplicaLines) => {
    const asked: string[] = [];
    await using front = await startReplicas(1, {
      ...some,
      lines: `headers = { x-team = "a" }\n${some.lines ?? ""}`,
      fault(link) {
        const [line] = link.request.split(" HTTP/");
        asked.push(`${line} ${/^x-team: (.*)\r$/m.exec(link.request)?.[1]}`);
        return link.pass();
      },
    });
    await until(front, () => asked.length === 2);
    return asked;
  };

  test("calls /health beside /v1, with the headers of every request", async () => {
    expect(await listChecks({})).toEqual(["GET /health a", "GET /health a"]);
  });

  test("calls the path that the operator sets, of a provider's server too", async () => {
    const lines = 'health = "/v1/models?limit=1"';
    const check = "GET /v1/models?limit=1 a";
    expect(await listChecks({ lines })).toEqual([check, check]);
    expect(await listChecks({ lines, self_hosted: false })).toEqual([check, check]);
  });

  const NEVER: [what: string, some: ReplicaLines][] = [
    ["where it is switched off", UNWATCHED],
    ["of a provider's server by default", { self_hosted: false }],
  ];
  for (const [what, some] of NEVER) {
    test(`is not made ${what}`, async () => {
      await using front = await startReplicas(1, some);
      await front.clock.advance(60_000);
      // Earlier requests would have arrived before this one.
      await fetch(`${front.proxies[0]!.url}/models`);
      expect(front.proxies[0]!.connections.length).toBe(1);
    });
  }
});

test("accounts take turns for the slots of a model's servers", async () => {
  await using front = await startReplicas(1, { lines: `${UNWATCHED.lines}\nmax_in_flight = 1` });
  const order: string[] = [];
  const held: (() => void)[] = [];
  front.upstreams[0]!.script = async ({ body }) => {
    const [{ content }] = body.messages as [{ content: string }];
    order.push(content);
    if (!order.includes("other")) await new Promise<void>((resolve) => held.push(resolve));
    return answerText("Hello");
  };
  const { pending } = front.clock;
  // Timers of the app itself, after a first chat. Both keys are then cached, so that neither waits
  // for the database.
  for (const key of [KEY, `${KEY}-other`]) await (await front.chat("other", {}, { key })).text();
  await front.clock.advance(1_000);
  const idle = pending();
  order.length = 0;
  const busy = Array.from({ length: 51 }, () => front.chat("busy"));
  // While a database is slow, a clock that went on would make all of them late.
  while (held.length === 0) await front.clock.advance(0);
  const other = front.chat("other", {}, { key: `${KEY}-other` });
  // All are queued when the first slot is released. Each of 52 has a deadline timer, and each of
  // the 51 in the queue a wait timer.
  while (pending() < idle + 52 + 51) await front.clock.advance(0);
  for (let n = 0; !order.includes("other"); n++) {
    await until(front, () => held.length > n || order.includes("other"));
    held[n]?.();
  }
  expect(await readOutcome(await other)).toBe(WHOLE);
  // In order of arrival it would be the last. The queue's own tests prove its exact turn; here the
  // order of arrival is unknown.
  expect(order.indexOf("other")).toBeLessThan(25);
  for (const reply of busy) expect((await reply).status).toBe(201);
  expect(order.length).toBe(52);
});
