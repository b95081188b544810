// A chat of the playground: its request, and the stream of its answer.
import { ApiFailure, NO_ANSWER, readFailure } from "../api.ts";

export interface PlaygroundMessage {
  role: "system" | "user" | "assistant";
  content: string;
}

export interface ChatBody {
  model?: string;
  messages: readonly PlaygroundMessage[];
  stream: true;
  stream_options: { include_usage: true };
}

/** One frame of the stream: a piece of text, the usage, or an error. */
interface Frame {
  choices?: readonly { delta: { content?: string } }[];
  error?: { code: string; message: string };
}

interface StreamListener {
  signal: AbortSignal;
  onBegin(requestId: string | null): void;
  onText(text: string): void;
}

/** Resolves at the end of the answer; throws what the gateway refuses. */
export async function streamChat(key: string, request: ChatBody, options: StreamListener) {
  const reply = await fetch("/operator/v1/playground/chat", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ key, request }),
    credentials: "same-origin",
    signal: options.signal,
  }).catch((failure: Error) => {
    if (failure.name === "AbortError") throw failure;
    throw new ApiFailure(0, "no_answer", NO_ANSWER, null);
  });
  const requestId = reply.headers.get("x-request-id");
  options.onBegin(requestId);
  if (!reply.ok) throw readFailure(reply, await reply.text());
  for await (const data of readFrames(reply)) {
    if (data === "[DONE]") return;
    const { choices, error } = JSON.parse(data) as Frame;
    if (error) throw new ApiFailure(reply.status, error.code, error.message, requestId);
    const text = choices?.[0]?.delta.content;
    if (text) options.onText(text);
  }
}

async function* readFrames(reply: Response): AsyncGenerator<string> {
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (unread + value).split("\n\n");
    unread = frames.pop()!;
    for (const frame of frames) if (frame.startsWith("data: ")) yield frame.slice(6);
  }
}

/** Writes the request as its owner would send it, with the key in a variable. */
export function writeCurl(request: ChatBody): string {
  const body = JSON.stringify(request).replaceAll("'", "'\\''");
  return [
    `curl -N ${location.origin}/v1/chat/completions`,
    '-H "Authorization: Bearer $WADI_API_KEY"',
    "-H 'Content-Type: application/json'",
    `-d '${body}'`,
  ].join(" \\\n  ");
}
