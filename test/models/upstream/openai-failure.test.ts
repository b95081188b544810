// What an error of each known kind of server means to the caller.
import { describe, expect, test } from "bun:test";
import { connectReplica } from "./replica.ts";

const json = (value: unknown) => JSON.stringify(value);

const CASES: [title: string, status: number, body: string, code: string, elsewhere: boolean][] = [
  [
    "vLLM: too long",
    400,
    json({
      error: {
        message: "This model's maximum context length is 4096 tokens. However, …",
        code: 400,
      },
    }),
    "context_length_exceeded",
    false,
  ],
  [
    "older vLLM, flat: too long",
    400,
    json({
      object: "error",
      message: "The decoder prompt is longer than the maximum model length of 4096.",
    }),
    "context_length_exceeded",
    false,
  ],
  [
    "SGLang: too long",
    400,
    json({
      object: "error",
      message: "The input (5000 tokens) is longer than the model's context length.",
    }),
    "context_length_exceeded",
    false,
  ],
  [
    "llama.cpp: too long",
    400,
    json({
      error: {
        code: 400,
        message: "the request exceeds the available context size",
        type: "exceed_context_size_error",
      },
    }),
    "context_length_exceeded",
    false,
  ],
  [
    "llama-cpp-python: too long",
    400,
    json({
      error: {
        message: "This model's maximum context length is 2048 tokens",
        code: "context_length_exceeded",
      },
    }),
    "context_length_exceeded",
    false,
  ],
  [
    "TGI: too long",
    422,
    json({
      error:
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 9000",
      error_type: "validation",
    }),
    "context_length_exceeded",
    false,
  ],
  [
    "a body that is too large by the words of a proxy",
    413,
    "<html>too large</html>",
    "upstream_error",
    false,
  ],
  [
    "a request that it does not like",
    400,
    json({ error: { message: "bad seed" } }),
    "upstream_error",
    false,
  ],
  ["a field that it does not like", 422, json({ detail: [] }), "upstream_error", false],
  ["our key", 401, json({ error: "Unauthorized" }), "model_unavailable", true],
  ["our rights", 403, "<html>Forbidden</html>", "model_unavailable", true],
  ["the model's name or the route", 404, json({ object: "error" }), "model_unavailable", true],
  [
    "too many requests",
    429,
    json({ error: { message: "slow down" } }),
    "upstream_rate_limited",
    true,
  ],
  [
    "SGLang's queue",
    503,
    json({ message: "The request queue is full." }),
    "upstream_rate_limited",
    true,
  ],
  [
    "Ollama's queue",
    503,
    json({ error: "maximum pending requests exceeded" }),
    "upstream_rate_limited",
    true,
  ],
  ["llama.cpp loading", 503, json({ error: { message: "Loading model" } }), "upstream_error", true],
  ["a crash that talks of length", 500, json({ error: "context window" }), "upstream_error", true],
  ["a proxy without server", 502, "<html>Bad gateway</html>", "upstream_error", true],
  ["a proxy that waited", 504, "<html>Gateway time-out</html>", "upstream_timeout", true],
  ["a server that waited", 408, "", "upstream_timeout", true],
  ["a redirect", 302, "", "upstream_error", true],
  ["a teapot", 418, "", "upstream_error", false],
];

describe("an error of the server is judged by its status and its words:", () => {
  for (const [title, status, body, code, elsewhere] of CASES) {
    for (const stream of [false, true]) {
      test(`${title}${stream ? ", for a stream" : ""}`, async () => {
        const headers = { "retry-after": "7", server: "nginx" };
        const replica = connectReplica(() => new Response(body, { status, headers }));
        const { heard, ending } = replica.ask({ stream });
        expect(await ending).toEqual({
          ok: false,
          code,
          elsewhere,
          why: expect.any(String),
          upstream_status: status,
        } as never);
        expect(heard).toEqual([]);
      });
    }
  }
});

test("a huge body of an error is not read", async () => {
  let sent = 0;
  const body = new ReadableStream({
    pull(controller) {
      sent += 65_536;
      controller.enqueue(new Uint8Array(65_536));
    },
  });
  const { ending } = connectReplica(() => new Response(body, { status: 400 })).ask();
  expect(await ending).toMatchObject({ code: "upstream_error", upstream_status: 400 });
  expect(sent).toBeLessThan(1_000_000);
});

test("an error whose body breaks off is judged by its status", async () => {
  const body = new ReadableStream({
    pull(controller) {
      controller.error(new Error("broken"));
    },
  });
  const { ending } = connectReplica(() => new Response(body, { status: 429 })).ask();
  expect(await ending).toMatchObject({ code: "upstream_rate_limited" });
});
