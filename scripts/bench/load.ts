// A process of callers: takes one measurement order at a time from its parent, and returns figures.
import { runCaller } from "./caller.ts";
import { readCpuMs, takeQuantile } from "./measure.ts";
import { writeInstruction } from "./mock-upstream.ts";

export interface Order {
  port: number;
  /** The secret that callers send. */
  key: string;
  /** The status of a right reply. */
  status: number;
  callers: number;
  /** Warm-up, not counted; callers start evenly over its first half. */
  warm_ms: number;
  measure_ms: number;
  /** Request bodies, used in turn; chats by default. */
  ask?: Ask;
  /** Chunks per stream; null: JSON replies. */
  stream: { chunks: number; pace_ms: number } | null;
  /** Expects a stream that ends with [DONE]. */
  isStream?: boolean;
  /** Share of streams whose caller leaves in the middle. */
  leaving?: number;
  /** Processes whose CPU time is measured. */
  pids: Readonly<Record<string, number>>;
}

/** Requests of another route. */
export interface Ask {
  /** POST by default. */
  method?: "GET";
  path: string;
  /** ASCII only. */
  bodies: readonly string[];
  /** A text that a right reply holds, at least so often. */
  piece: string;
  pieces_min: number;
}

export interface Quantiles {
  p50: number;
  p99: number;
}

export interface Measured {
  /** Why the figures are void. */
  complaint?: string;
  seconds: number;
  replies: number;
  pieces: number;
  /** Milliseconds from the request to the whole reply. */
  whole_ms: Quantiles;
  /** Milliseconds from the request to the first piece of text. */
  firstMs: Quantiles;
  /** Milliseconds that bytes of a paced stream came later than its pace. */
  late_ms: Quantiles & { max: number };
  /** Milliseconds on a core, by the names of the order's pids, and `load` for this process. */
  cpu_ms: Record<string, number>;
}

/** Streams of one length keep step for ever; lengths from half to one and a half times break it. */
const LENGTHS = 16;

const writeRequest = (path: string, key: string, body: string, method = "POST"): string =>
  [
    `${method} ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    "",
    body,
  ].join("\r\n");

const writeRequests = ({ key, stream, ask }: Order): string[] => {
  if (ask) return ask.bodies.map((body) => writeRequest(ask.path, key, body, ask.method));
  const lengths = stream && stream.pace_ms > 0 ? LENGTHS : 1;
  return Array.from({ length: lengths }, (_, at) => {
    const chunks = Math.round((stream?.chunks ?? 0) * (lengths === 1 ? 1 : 0.5 + at / LENGTHS));
    const content = `Say something. ${stream ? writeInstruction(chunks, stream.pace_ms) : ""}`;
    const body = JSON.stringify({
      model: "mock",
      messages: [
        { role: "system", content: "You are a helpful assistant who answers in a few words." },
        { role: "user", content },
      ],
      temperature: 0.7,
      max_tokens: 256,
      ...(stream && { stream: true, stream_options: { include_usage: true } }),
    });
    return writeRequest("/v1/chat/completions", key, body);
  });
};

const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)]!;

const quantilesOf = (values: number[]): Quantiles => {
  const sorted = Float64Array.from(values).sort();
  return { p50: takeQuantile(sorted, 0.5), p99: takeQuantile(sorted, 0.99) };
};

const measure = async (order: Order): Promise<Measured> => {
  const requests = writeRequests(order);
  const whole_ms: number[] = [];
  const firstMs: number[] = [];
  const late_ms: number[] = [];
  const pace_ms = order.stream?.pace_ms ?? 0;
  let pieces = 0;
  let complaint: string | undefined;
  let phase: "warm" | "measure" | "over" = "warm";

  const play = async (delay_ms: number) => {
    await Bun.sleep(delay_ms);
    let requested_at = 0;
    const wrong = await runCaller({
      port: order.port,
      status: order.status,
      isStream: order.isStream ?? order.stream !== null,
      ...(order.ask && { piece: order.ask.piece, pieces_min: order.ask.pieces_min }),
      write() {
        requested_at = performance.now();
        return pick(requests);
      },
      leaveAfter: () =>
        Math.random() < (order.leaving ?? 0)
          ? Math.ceil(Math.random() * order.stream!.chunks * 0.5)
          : Number.POSITIVE_INFINITY,
      onFirst() {
        if (phase === "measure") firstMs.push(performance.now() - requested_at);
      },
      ...(pace_ms > 0 && {
        onGap(ms: number) {
          if (phase === "measure") late_ms.push(Math.max(0, ms - pace_ms));
        },
      }),
      onReply(count) {
        if (phase === "measure") {
          whole_ms.push(performance.now() - requested_at);
          pieces += count;
        }
        return phase !== "over" && complaint === undefined;
      },
    });
    complaint ??= wrong;
  };
  const readCpu = () =>
    Object.entries({ ...order.pids, load: process.pid }).map(
      ([name, pid]) => [name, readCpuMs(pid)] as const,
    );

  const step_ms = order.warm_ms / 2 / order.callers;
  const playing = Array.from({ length: order.callers }, (_, at) => play(at * step_ms));
  await Bun.sleep(order.warm_ms);
  const before = readCpu();
  const started_at = performance.now();
  phase = "measure";
  await Bun.sleep(order.measure_ms);
  const seconds = (performance.now() - started_at) / 1000;
  const after = new Map(readCpu());
  phase = "over";
  await Promise.all(playing);
  return {
    complaint,
    seconds,
    replies: whole_ms.length,
    pieces,
    whole_ms: quantilesOf(whole_ms),
    firstMs: quantilesOf(firstMs),
    late_ms: { ...quantilesOf(late_ms), max: late_ms.reduce((a, b) => Math.max(a, b), 0) },
    cpu_ms: Object.fromEntries(before.map(([name, ms]) => [name, after.get(name)! - ms])),
  };
};

if (import.meta.main) {
  process.on("message", async (order: Order) => {
    process.send?.(await measure(order));
  });
  process.on("disconnect", () => process.exit(0));
}
