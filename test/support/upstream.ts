// A scripted model server that records its requests.

export interface AskedRequest {
  path: string;
  headers: Headers;
  body: Record<string, unknown>;
  signal: AbortSignal;
}

export type Script = (asked: AskedRequest) => Response | Promise<Response>;

export interface ScriptedUpstream {
  url: string;
  asked: AskedRequest[];
  script: Script;
  /** The status of its /health, whose requests are not recorded. */
  health: number;
  stop(): Promise<void>;
}

export function startUpstream(script: Script = () => answerText("Hello")): ScriptedUpstream {
  const asked: AskedRequest[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === "/health") return new Response(null, { status: upstream.health });
      const sent = await request.text();
      const body = (sent === "" ? {} : JSON.parse(sent)) as Record<string, unknown>;
      const one = { path: pathname, headers: request.headers, body, signal: request.signal };
      asked.push(one);
      return upstream.script(one);
    },
  });
  const upstream: ScriptedUpstream = {
    url: `http://127.0.0.1:${server.port}/v1`,
    asked,
    script,
    health: 200,
    stop: () => server.stop(true),
  };
  return upstream;
}

export const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

export function answerText(content: string): Response {
  const message = { role: "assistant", content };
  return Response.json({
    id: "upstream-1",
    object: "chat.completion",
    created: 1,
    model: "upstream-model",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: USAGE,
  });
}

/** A stream of frames, each sent unchanged: `data: {…}\n\n`, half frames, garbage. */
export function answerFrames(frames: readonly string[], status = 200): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream({
    async start(controller) {
      for (const frame of frames) controller.enqueue(encoder.encode(frame));
      controller.close();
    },
  });
  return new Response(body, { status, headers: { "content-type": "text/event-stream" } });
}

export function writeFrame(delta: object, finish_reason: string | null = null, extra: object = {}) {
  const chunk = {
    id: "u",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }],
  };
  return `data: ${JSON.stringify({ ...chunk, ...extra })}\n\n`;
}

export const DONE = "data: [DONE]\n\n";

export function writeSettings(url: string, model = "", upstream = ""): string {
  return `
[[models]]
id = "test-1"
provider = "wadi"
self_hosted = true
context_window = 32768
capabilities = ["tools", "streaming", "reasoning", "vision"]
${model}
[models.upstream]
kind = "openai"
urls = ["${url}"]
${upstream}
`;
}
