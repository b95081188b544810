// A process that answers chats and embeddings like a model server, with as little of its own time as possible.
import type { Socket } from "bun";

/** Requests carry instructions for the mock in their messages, which a gateway forwards. */
export const writeInstruction = (chunks: number, pace_ms: number): string =>
  `chunks=${chunks} pace_ms=${pace_ms}`;
const INSTRUCTION = /chunks=(\d+) pace_ms=(\d+)/;

/** Counters of the process, served at GET /stats. */
export interface MockStats {
  connections_made: number;
  connections_open: number;
  streams_open: number;
  /** Streams whose reader closed the connection before the end. */
  streams_left: number;
  replies: number;
}

interface Connection {
  /** Bytes of a request that is not whole yet, one character each. */
  received: string;
  /** Bytes that the socket did not take yet; all that is ever sent is ASCII. */
  unsent: string;
  stream: Stream | null;
}

interface Stream {
  pieces_left: number;
  timer: Timer | null;
}

type Peer = Socket<Connection>;

const head = `"created":1790000000,"model":"mock"`;
const usage = `"usage":{"prompt_tokens":24,"completion_tokens":100,"total_tokens":124}`;
const words =
  "The quick brown fox jumps over the lazy dog and goes home to sleep until the morning. ";

const REPLY = (() => {
  const message = `{"role":"assistant","content":"${words.repeat(9).trim()}","tool_calls":null}`;
  const choice = `{"index":0,"message":${message},"logprobs":null,"finish_reason":"stop"}`;
  const body = `{"id":"chatcmpl-mock","object":"chat.completion",${head},"choices":[${choice}],${usage}}`;
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
})();

/** Two rounds with a call, and then a text, for an agent's run of three rounds. */
const writeCall = (round: number): string => {
  const fn = `{"name":"calculator","arguments":"{\\"expression\\":\\"${round} + 3\\"}"}`;
  const call = `{"id":"call_${round}","type":"function","function":${fn}}`;
  const message = `{"role":"assistant","content":null,"tool_calls":[${call}]}`;
  const choice = `{"index":0,"message":${message},"logprobs":null,"finish_reason":"tool_calls"}`;
  const body = `{"id":"chatcmpl-mock","object":"chat.completion",${head},"choices":[${choice}],${usage}}`;
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
};
const CALLS = [writeCall(0), writeCall(1)];

const DIMENSIONS = 1024;

/** Vectors of unit length that look like any others, each element written with all its digits. */
const writeVector = (at: number, isBase64: boolean): string => {
  const elements = Float32Array.from({ length: DIMENSIONS }, (_, nth) =>
    Math.sin((at + 1) * (nth + 1) * 1.7),
  );
  const length = Math.hypot(...elements);
  const vector = elements.map((element) => element / length);
  return isBase64 ? `"${Buffer.from(vector.buffer).toString("base64")}"` : `[${vector.join(",")}]`;
};

const embeddings = new Map<string, string>();
/** A reply is made once for each number of texts and each form. */
const writeEmbeddings = (body: string): string => {
  const isBase64 = body.includes(`"encoding_format":"base64"`);
  const { input } = JSON.parse(body) as { input: string | string[] };
  const count = typeof input === "string" ? 1 : input.length;
  const name = `${count} ${isBase64}`;
  let reply = embeddings.get(name);
  if (reply === undefined) {
    const data = Array.from(
      { length: count },
      (_, index) =>
        `{"object":"embedding","index":${index},"embedding":${writeVector(index, isBase64)}}`,
    );
    const used = `"usage":{"prompt_tokens":${100 * count},"total_tokens":${100 * count}}`;
    const text = `{"object":"list","data":[${data.join(",")}],"model":"bge-m3",${used}}`;
    reply = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
    embeddings.set(name, reply);
  }
  return reply;
};

const STREAM_HEAD =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n" +
  "cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

/** One frame in its own piece of the chunked body, as model servers flush them. */
const writeFrame = (data: string): string => {
  const frame = `data: ${data}\n\n`;
  return `${frame.length.toString(16)}\r\n${frame}\r\n`;
};
const writeChunk = (choices: string, more = ""): string =>
  writeFrame(
    `{"id":"chatcmpl-mock","object":"chat.completion.chunk",${head},"choices":[${choices}]${more}}`,
  );
const writeDelta = (delta: string, reason: string): string =>
  writeChunk(`{"index":0,"delta":{${delta}},"logprobs":null,"finish_reason":${reason}}`);

const FIRST = writeDelta(`"role":"assistant","content":"Hello"`, "null");
const NEXT = writeDelta(`"content":" again"`, "null");
const END = [
  writeDelta("", `"stop"`),
  writeChunk("", `,${usage}`),
  writeFrame("[DONE]"),
  "0\r\n\r\n",
].join("");

const stats: MockStats = {
  connections_made: 0,
  connections_open: 0,
  streams_open: 0,
  streams_left: 0,
  replies: 0,
};

const send = (peer: Peer, text: string) => {
  const { data } = peer;
  data.unsent += text;
  const taken = peer.write(data.unsent);
  data.unsent = taken >= data.unsent.length ? "" : data.unsent.slice(Math.max(0, taken));
};

/** Streams that go as fast as they can: one piece each in every turn of the event loop. */
const unpaced = new Set<Peer>();
const turn = (): void => {
  for (const peer of unpaced) sendPiece(peer);
  if (unpaced.size > 0) setImmediate(turn);
};

const openStream = (peer: Peer, pieces: number, pace_ms: number): void => {
  const stream: Stream = { pieces_left: pieces - 1, timer: null };
  peer.data.stream = stream;
  stats.streams_open++;
  send(peer, STREAM_HEAD + FIRST);
  if (pace_ms > 0) {
    stream.timer = setInterval(sendPiece, pace_ms, peer);
    return;
  }
  unpaced.add(peer);
  if (unpaced.size === 1) setImmediate(turn);
};

const sendPiece = (peer: Peer) => {
  const { stream, unsent } = peer.data;
  // A reader that does not keep up is not sent more.
  if (!stream || unsent !== "") return;
  if (stream.pieces_left-- > 0) return send(peer, NEXT);
  closeStream(peer);
  send(peer, END);
};

const closeStream = (peer: Peer): void => {
  const { stream } = peer.data;
  if (!stream) return;
  if (stream.timer) clearInterval(stream.timer);
  unpaced.delete(peer);
  peer.data.stream = null;
  stats.streams_open--;
};

/** Routers ask a model server about itself before they send it anything. */
const DESCRIPTION = {
  object: "list",
  data: [{ id: "mock", object: "model", owned_by: "sglang", max_model_len: 32_768 }],
  ...{ model_path: "mock", served_model_name: "mock", is_generation: true, status: "ready" },
};

const answer = (peer: Peer, line: string, body: string) => {
  if (line.startsWith("GET ")) {
    const text = JSON.stringify(line.startsWith("GET /stats") ? stats : DESCRIPTION);
    return send(
      peer,
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    );
  }
  stats.replies++;
  if (line.startsWith("POST /v1/embeddings")) return send(peer, writeEmbeddings(body));
  if (!body.includes(`"stream":true`)) {
    const results = body.includes(`"tools":[`)
      ? body.split(`"role":"tool"`).length - 1
      : CALLS.length;
    return send(peer, CALLS[results] ?? REPLY);
  }
  const [, chunks, pace_ms] = INSTRUCTION.exec(body) ?? [];
  openStream(peer, Number(chunks ?? 100), Number(pace_ms ?? 0));
};

/** Answers every whole request that has arrived. */
const receive = (peer: Peer, bytes: Buffer): void => {
  const { data } = peer;
  data.received += bytes.toString("latin1");
  for (;;) {
    const end = data.received.indexOf("\r\n\r\n");
    if (end === -1) return;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(data.received)?.[1] ?? 0);
    const whole = end + 4 + length;
    if (data.received.length < whole) return;
    const request = data.received;
    data.received = request.slice(whole);
    answer(peer, request, request.slice(end + 4, whole));
  }
};

if (import.meta.main) {
  const server = Bun.listen<Connection>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(peer) {
        peer.data = { received: "", unsent: "", stream: null };
        peer.setNoDelay(true);
        stats.connections_made++;
        stats.connections_open++;
      },
      data: receive,
      drain: (peer) => send(peer, ""),
      close(peer) {
        stats.connections_open--;
        if (peer.data.stream) stats.streams_left++;
        closeStream(peer);
      },
    },
  });
  console.log(`http://127.0.0.1:${server.port}`);
  // Ends with the process that started it.
  for await (const _ of Bun.stdin.stream());
  process.exit(0);
}
