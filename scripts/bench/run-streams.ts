// Opens many streams of one run, and measures when each step reaches each of them.
import type { Socket } from "bun";

export interface Listening {
  /** Resolves once every stream has its first frame. */
  ready: Promise<void>;
  /** Resolves once every stream has ended, with the arrival times. */
  ended: Promise<StreamCounts>;
}

export interface StreamCounts {
  /** Frames of steps, of all streams together. */
  frames: number;
  /** For each step the milliseconds from its first listener to its last. */
  spreads_ms: number[];
  /** Streams that missed a step, had one twice, or did not end as they should. */
  faulty: number;
}

interface Listener {
  tail: string;
  seqs: number[];
  hasBegun: boolean;
  isDone: boolean;
}

const SEQ = /"seq":(\d+)/g;
const DONE = "data: [DONE]";

export const listenToRun = (
  port: number,
  keys: readonly string[],
  run_id: string,
  streams: number,
): Listening => {
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<StreamCounts>();
  const first = new Map<number, number>();
  const last = new Map<number, number>();
  const listeners: Listener[] = [];
  let begun = 0;
  let open = streams;

  const onChunk = (listener: Listener, bytes: Buffer) => {
    const text = listener.tail + bytes.toString("latin1");
    if (!listener.hasBegun && text.includes("data: {")) {
      listener.hasBegun = true;
      if (++begun === streams) ready.resolve();
    }
    const now = performance.now();
    let from = 0;
    for (const found of text.matchAll(SEQ)) {
      const end = found.index + found[0].length;
      // The number may continue in the next chunk.
      if (end === text.length) break;
      const seq = Number(found[1]);
      listener.seqs.push(seq);
      if (!first.has(seq)) first.set(seq, now);
      last.set(seq, now);
      from = end;
    }
    listener.isDone ||= text.includes(DONE);
    listener.tail = text.slice(Math.max(from, text.length - 40));
  };
  const finish = () => {
    const count = Math.max(0, ...last.keys());
    const isRight = ({ seqs, isDone }: Listener) =>
      isDone && seqs.length === count && seqs.every((seq, at) => seq === at + 1);
    ended.resolve({
      frames: listeners.reduce((sum, { seqs }) => sum + seqs.length, 0),
      spreads_ms: [...last].map(([seq, at]) => at - first.get(seq)!),
      faulty: listeners.filter((listener) => !isRight(listener)).length,
    });
  };
  for (let at = 0; at < streams; at++) {
    const listener: Listener = { tail: "", seqs: [], hasBegun: false, isDone: false };
    listeners.push(listener);
    const head = [
      `GET /v1/runs/${run_id}/events HTTP/1.1`,
      ...["host: 127.0.0.1", `authorization: Bearer ${keys[at % keys.length]}`, "", ""],
    ];
    const close = () => {
      if (--open === 0) finish();
    };
    Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: (socket: Socket) => void socket.write(head.join("\r\n")),
        data(socket, bytes) {
          onChunk(listener, bytes);
          if (listener.isDone) socket.end();
        },
        close,
      },
    }).catch(close);
  }
  return { ready: ready.promise, ended: ended.promise };
};
