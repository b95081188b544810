// The stream of changes: one tab of the browser reads it, and passes it on to the others. Six open
// streams would keep a seventh tab from loading.
import { ApiFailure, call, type SignedInOperator, session } from "./api.ts";

/** Rows that have changed; without an id, all of the topic. */
export interface RowChange {
  topic: string;
  id: string | null;
  /** Number of writes that it stands for. */
  changes: number;
}

/** `open`: what happened before is unknown, so all is read again. `beat`: the stream is alive. */
export type StreamNews = { kind: "open" | "beat" } | { kind: "change"; change: RowChange };

const PATH = "/operator/v1/changes";
const LOCK = "wadi-changes";
/** Silence after which the stream is opened again; comments come every 3 s. */
const SILENT_MS = 10_000;
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 4_000;

const wait = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", end, { once: true });
  });

/** Tells of changes until the signal aborts; this tab reads the stream once no other does. */
export async function followChanges(
  tell: (news: StreamNews) => void,
  signal: AbortSignal,
): Promise<void> {
  const others = new BroadcastChannel(LOCK);
  others.onmessage = ({ data }: MessageEvent<StreamNews>) => tell(data);
  const tellAll = (news: StreamNews) => {
    tell(news);
    others.postMessage(news);
  };
  const lead = () => readStreams(tellAll, signal);
  try {
    // Browsers have locks for encrypted and local pages only; elsewhere each tab reads by itself.
    await (navigator.locks ? navigator.locks.request(LOCK, { signal }, lead) : lead());
  } catch (failure) {
    if (!signal.aborted) throw failure;
  } finally {
    others.close();
  }
}

/** Opens a stream again whenever it ends. */
async function readStreams(tell: (news: StreamNews) => void, signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const hasBegun = await readStream(tell, signal).catch(() => false);
    failures = hasBegun ? 0 : failures + 1;
    // Without a session each further attempt would be refused, too.
    if (!hasBegun && !signal.aborted) await checkSession();
    await wait(Math.min(RETRY_MS * 2 ** failures, RETRY_MS_MAX), signal);
  }
}

async function checkSession(): Promise<void> {
  try {
    await call<SignedInOperator>("GET", "/console/session");
  } catch (failure) {
    if (!(failure instanceof ApiFailure)) throw failure;
  }
}

/** Reads one stream to its end; false where it could not be opened. */
async function readStream(tell: (news: StreamNews) => void, signal: AbortSignal): Promise<boolean> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout>;
  const hear = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENT_MS);
  };
  hear();
  let hasBegun = false;
  try {
    const reply = await fetch(PATH, {
      signal: AbortSignal.any([signal, silence.signal]),
      cache: "no-store",
    });
    if (!reply.ok || !reply.body) return false;
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let unread = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      hear();
      const lines = (unread + part.value).split("\n\n");
      unread = lines.pop()!;
      if (!hasBegun) tell({ kind: "open" });
      hasBegun = true;
      for (const line of lines) tell(readLine(line));
    }
    return hasBegun;
  } catch {
    return hasBegun;
  } finally {
    clearTimeout(timer!);
  }
}

function readLine(line: string): StreamNews {
  if (!line.startsWith("data: ")) return { kind: "beat" };
  return { kind: "change", change: JSON.parse(line.slice(6)) as RowChange };
}

export const isSignedIn = (): boolean => session.value.kind === "signed_in";
