// Chats with model servers that refuse, break, hang and redirect, and callers that leave.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type AskedRequest,
  answerFrames,
  answerText,
  DONE,
  startUpstream,
  writeFrame,
} from "../../support/upstream.ts";
import { expectRefusal, type Front, readFrames, startFront } from "./front.ts";

let front: Front;
beforeAll(async () => {
  front = await startFront();
});
afterAll(() => front.stop());

const NAMED = { model: "test-1" };
const HTML = "<html><body>nginx 10.0.0.7</body></html>";
const never = () => new Promise<Response>(() => undefined);
/** A stream that sends one frame and then nothing. */
const sayAndHang = () => {
  const body = new ReadableStream({
    start: (controller) =>
      controller.enqueue(new TextEncoder().encode(writeFrame({ content: "Hi" }))),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
};
const aborted = ({ signal }: AskedRequest) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
/** The next request, as soon as the model server has it. */
function receive({ upstream }: Front, answer: () => Response | Promise<Response>) {
  const { promise, resolve } = Promise.withResolvers<AskedRequest>();
  upstream.script = (one) => {
    resolve(one);
    return answer();
  };
  return promise;
}

describe("an error status of the model server", () => {
  const leaking = { "retry-after": "7", server: "nginx", "x-ratelimit-remaining": "0" };
  const json = (value: object) => JSON.stringify(value);
  const CASES: [rule: string, status: number, body: string, expected: number, code: string][] = [
    [
      "gateway.errors.upstream_error",
      500,
      json({ error: { message: "CUDA" } }),
      502,
      "upstream_error",
    ],
    [
      "gateway.errors.upstream_error",
      400,
      json({ error: { message: "bad seed" } }),
      502,
      "upstream_error",
    ],
    ["gateway.errors.upstream_error", 502, HTML, 502, "upstream_error"],
    ["gateway.errors.upstream_error", 503, HTML, 502, "upstream_error"],
    ["gateway.errors.upstream_error", 302, "", 502, "upstream_error"],
    ["gateway.errors.upstream_timeout", 504, HTML, 504, "upstream_timeout"],
    ["gateway.errors.model_unavailable", 401, json({ error: "no key" }), 503, "model_unavailable"],
    ["gateway.errors.model_unavailable", 403, HTML, 503, "model_unavailable"],
    ["gateway.errors.model_unavailable", 404, json({ object: "error" }), 503, "model_unavailable"],
    ["gateway.errors.upstream_rate_limited", 429, "", 429, "upstream_rate_limited"],
    [
      "gateway.errors.upstream_rate_limited",
      503,
      json({ message: "queue is full" }),
      429,
      "upstream_rate_limited",
    ],
    [
      "gateway.errors.context_length_exceeded",
      400,
      json({ message: "context length" }),
      400,
      "context_length_exceeded",
    ],
  ];
  for (const [rule, status, body, expected, code] of CASES) {
    for (const stream of [false, true]) {
      test(`${rule} ${status} is ${expected}${stream ? ", for a stream too" : ""}`, async () => {
        front.upstream.script = () => new Response(body, { status, headers: leaking });
        const response = await front.chat("Hello", { ...NAMED, stream });
        expect(Object.keys(leaking).filter((name) => response.headers.has(name))).toEqual([]);
        const text = await response.clone().text();
        expect(text).not.toMatch(/CUDA|seed|nginx|10\.0\.0|queue/);
        const param = code === "context_length_exceeded" ? "messages" : null;
        await expectRefusal(response, expected, code, param);
      });
    }
  }

  test("gateway.errors.no_model_available gateway.states.p3 a rejected operator key, when the request named no model", async () => {
    for (const status of [401, 403, 404]) {
      front.upstream.script = () => new Response("", { status });
      for (const fields of [{}, { model: "svc" }, { model: "svc-v0" }, { model: "gpt-4o" }]) {
        await expectRefusal(await front.chat("Hello", fields), 503, "no_model_available");
      }
    }
  });

  test("gateway.errors.headers.deprecation carries the headers of an unknown id", async () => {
    front.upstream.script = () => new Response("", { status: 500 });
    for (const stream of [false, true]) {
      const response = await front.chat("Hello", { model: "gpt-4o", stream });
      await expectRefusal(response, 502, "upstream_error");
      expect(response.headers.get("deprecation")).toBe("@1790467200");
    }
  });

  test("is logged with its cause, without the server's text", async () => {
    const headers = { "x-request-id": "log-me" };
    front.upstream.script = () => new Response('{"error":"CUDA"}', { status: 500 });
    await front.chat("A secret question", NAMED, { headers });
    const lines = front.lines.filter(({ request_id }) => request_id === "log-me");
    expect(lines).toEqual([
      expect.objectContaining({
        level: "warn",
        model: "test-1",
        code: "upstream_error",
        upstream_status: 500,
      }),
    ]);
    expect(JSON.stringify(front.lines)).not.toMatch(/CUDA|secret/);
  });
});

describe("gateway.errors.upstream_error", () => {
  test("a reply that is not JSON, or truncated", async () => {
    for (const body of [HTML, "", '{"choices":[', "null", "{}"]) {
      front.upstream.script = () => new Response(body);
      await expectRefusal(await front.chat("Hello"), 502, "upstream_error");
    }
  });

  test("a server that refuses connections", async () => {
    const gone = startUpstream();
    await gone.stop();
    await using own = await startFront({
      more: `
[[models]]
id = "gone"
self_hosted = true
capabilities = ["streaming"]
upstream = { kind = "openai", urls = ["${gone.url}"] }
`,
    });
    for (const stream of [false, true]) {
      const response = await own.chat("Hello", { model: "gone", stream });
      await expectRefusal(response, 502, "upstream_error");
    }
  });

  test("a redirect is not followed", async () => {
    const elsewhere = startUpstream();
    const count = front.upstream.asked.length;
    front.upstream.script = () => Response.redirect(`${elsewhere.url}/chat/completions`, 307);
    await expectRefusal(await front.chat("Hello"), 502, "upstream_error");
    expect([front.upstream.asked.length, elsewhere.asked.length]).toEqual([count + 1, 0]);
    await elsewhere.stop();
  });

  test("a stream that stalls after it began ends with an error in the stream", async () => {
    await using own = await startFront({ upstream: 'stall_timeout = "5s"' });
    own.upstream.script = sayAndHang;
    const response = await own.chat("Hello", { stream: true });
    await own.clock.advance(5_000);
    const frames = await readFrames(response);
    expect(frames.slice(1)).toEqual([
      expect.objectContaining({ error: expect.objectContaining({ code: "upstream_error" }) }),
      "data: [DONE]",
    ] as never);
    await aborted(own.last());
  });
});

describe("gateway.errors.upstream_timeout no response in time", () => {
  test("is 504 as JSON and before a stream begins, and the connection is closed", async () => {
    await using own = await startFront({ upstream: 'first_token_timeout = "10s"' });
    for (const stream of [false, true]) {
      const arrived = receive(own, never);
      const replied = own.chat("Hello", { stream });
      const one = await arrived;
      await own.clock.advance(9_999);
      expect(Bun.peek.status(replied)).toBe("pending");
      await own.clock.advance(1);
      await expectRefusal(await replied, 504, "upstream_timeout");
      await aborted(one);
    }
  });

  test("after a comment appears in the stream", async () => {
    await using own = await startFront({ upstream: 'first_token_timeout = "20s"' });
    const arrived = receive(own, never);
    const replied = own.chat("Hello", { stream: true });
    await arrived;
    await own.clock.advance(20_000);
    expect(await readFrames(await replied)).toEqual([
      ": keep-alive",
      expect.objectContaining({ error: expect.objectContaining({ code: "upstream_timeout" }) }),
      "data: [DONE]",
    ] as never);
  });
});

describe("gateway.errors.client_closed_request a caller that leaves ends the request at the model server", () => {
  for (const listens of [false, true]) {
    const where = listens ? ", over a socket" : "";
    for (const stream of [false, true]) {
      test(`while it waits for ${stream ? "a stream" : "a reply"}${where}`, async () => {
        await using own = await startFront({}, { listens });
        const leaving = new AbortController();
        const arrived = receive(own, never);
        const headers = { "x-request-id": "leaver" };
        const options = { headers, signal: leaving.signal };
        const replied = own.chat("Hello", { stream }, options).catch(() => null);
        const one = await arrived;
        leaving.abort();
        await aborted(one);
        await replied;
        await own.logged("client_closed_request");
        expect(own.lines.filter(({ request_id }) => request_id === "leaver")).toEqual([
          expect.objectContaining({ level: "info", code: "client_closed_request", status: 499 }),
        ]);
      });
    }

    test(`in the middle of a stream${where}`, async () => {
      await using own = await startFront({}, { listens });
      own.upstream.script = sayAndHang;
      const leaving = new AbortController();
      const response = await own.chat("Hello", { stream: true }, { signal: leaving.signal });
      const reader = response.body!.getReader();
      expect(new TextDecoder().decode((await reader.read()).value)).toContain("Hi");
      if (listens) leaving.abort();
      else await reader.cancel();
      await aborted(own.last());
      await own.logged("client_closed_request");
      expect(own.lines).toEqual([
        expect.objectContaining({ code: "client_closed_request", status: 499 }),
      ]);
    });
  }
});

describe("the model server receives", () => {
  test("the request's id, generated or a received UUID, and no other header of the caller", async () => {
    front.upstream.script = () => answerText("Hi");
    const own_id = "019aa7e4-2c00-7000-8000-0123456789ab";
    const headers = {
      "x-request-id": own_id,
      cookie: "session=secret",
      "x-forwarded-for": "10.1.2.3",
      forwarded: "for=10.1.2.3",
      "x-real-ip": "10.1.2.3",
      via: "1.1 proxy",
      "x-api-key": "secret",
      "user-agent": "secret",
      "accept-language": "secret",
      traceparent: "secret",
      "openai-organization": "secret",
    };
    await front.chat("Hello", {}, { headers });
    const sent = Object.fromEntries(front.last().headers);
    expect(sent["x-request-id"]).toBe(own_id);
    expect(Object.keys(sent).sort()).toEqual([
      "accept-encoding",
      "content-length",
      "content-type",
      "host",
      "user-agent",
      "x-request-id",
    ]);
    expect(JSON.stringify(sent)).not.toMatch(/secret|10\.1|svc_sk/);
    const response = await front.chat("Hello");
    expect(front.last().headers.get("x-request-id")).toBe(response.headers.get("x-request-id"));
    // Some servers refuse any other, and its caller with it.
    await front.chat("Hello", {}, { headers: { "x-request-id": "from-the-caller" } });
    expect(front.last().headers.get("x-request-id")).toBeNull();
  });

  test("the operator's key and headers, and the server's model name", async () => {
    const env = { MODEL_KEY: "operator-key" };
    const lines = 'api_key_env = "MODEL_KEY"\nheaders = { x-team = "one" }';
    await using own = await startFront({ upstream: lines }, { env });
    await own.chat("Hello");
    expect(own.last().path).toBe("/v1/chat/completions");
    expect(Object.fromEntries(own.last().headers)).toMatchObject({
      authorization: "Bearer operator-key",
      "x-team": "one",
    });
    expect(own.last().body.model).toBe("upstream-model");
  });
});

describe("of two replicas", () => {
  /** Sends the same request twice, so that each replica is first once. */
  async function askTwice(
    stream: boolean,
    first: () => Response | Promise<Response>,
    second: () => Response | Promise<Response>,
  ): Promise<[Response, Response]> {
    const servers = [startUpstream(first), startUpstream(second)] as const;
    await using own = await startFront({
      more: `
[[models]]
id = "pair"
self_hosted = true
capabilities = ["streaming"]
upstream = { kind = "openai", urls = ["${servers[0].url}", "${servers[1].url}"] }
`,
    });
    const fields = { model: "pair", stream };
    const replies: [Response, Response] = [
      await own.chat("Hello", fields),
      await own.chat("Hello", fields),
    ];
    // Read before everything stops.
    const read = await Promise.all(
      replies.map(async (reply) => [reply, await reply.text()] as const),
    );
    for (const server of servers) await server.stop();
    return read.map(
      ([{ status, headers }, text]) => new Response(text, { status, headers }),
    ) as never;
  }
  const good = () => answerText("good");
  const goodStream = () => answerFrames([writeFrame({ content: "good" }, "stop"), DONE]);

  test("the other takes over before the first chunk", async () => {
    const BAD = [500, 503, 429, 401, 404].map((status) => () => new Response("", { status }));
    for (const bad of [...BAD, () => new Response(HTML)]) {
      for (const reply of await askTwice(false, bad, good)) {
        expect(await reply.json()).toMatchObject({ choices: [{ message: { content: "good" } }] });
      }
      for (const reply of await askTwice(true, bad, goodStream)) {
        expect(await reply.text()).toContain("good");
      }
    }
    const silent = () => answerFrames([": hi\n\n", writeFrame({ role: "assistant" })]);
    for (const reply of await askTwice(true, silent, goodStream)) {
      expect(await reply.text()).toContain("good");
    }
  });

  test("none takes over after it", async () => {
    const dying = () => answerFrames([writeFrame({ content: "Hi" })]);
    const texts = (await askTwice(true, dying, goodStream)).map((reply) => reply.text());
    const [died, whole] = await Promise.all(texts);
    expect(died).toContain('"content":"Hi"');
    expect(died).toContain('"code":"upstream_error"');
    expect(died).not.toContain("good");
    expect(whole).toContain("good");
  });

  test("no other is tried when the request is at fault", async () => {
    const long = () => Response.json({ message: "maximum context length" }, { status: 400 });
    const [refused, answered] = await askTwice(false, long, good);
    await expectRefusal(refused, 400, "context_length_exceeded", "messages");
    expect(answered.status).toBe(201);
  });

  test("the last error is returned when both fail", async () => {
    const busy = () => new Response("", { status: 429 });
    const broken = () => new Response("", { status: 500 });
    const [first, second] = await askTwice(false, busy, broken);
    await expectRefusal(first, 502, "upstream_error");
    await expectRefusal(second, 429, "upstream_rate_limited");
  });
});
