// Images of a run's input: as data in the request, or fetched once at the start of the run.
import { isRedirect } from "../../net/index.ts";
import { listImages, type MessagePart, nameImage } from "../threads/parts.ts";
import type { Message } from "../threads/thread.ts";
import type { RunRow } from "./run.ts";
import { failure, type RunContext, type StepResult } from "./run-context.ts";
import type { RunState } from "./state.ts";
import type { RunStore } from "./store/index.ts";

const IMAGE_BYTES_MAX = 4 * 1024 * 1024;
/** Bytes of all images of a run. */
const RUN_BYTES_MAX = 8 * 1024 * 1024;
/** Maximum images of earlier runs in a prompt, the newest ones. */
const EARLIER_MAX = 8;
const EARLIER_CHARACTERS_MAX = 12 * 1024 * 1024;
/** Time of all attempts to fetch an image, without the waits between them. */
const TIMEOUT_MS = 20_000;
/** Time below which another attempt is not worth it. */
const ATTEMPT_MS_MIN = 1_000;
const REDIRECTS_MAX = 3;
const ATTEMPTS_MAX = 3;
const FIRST_RETRY_WAIT_MS = 1_000;
const HEADERS = { accept: "image/png,image/jpeg,image/webp,image/gif" };
const DATA = /^data:image\/[a-z+.-]{1,32};base64,([A-Za-z0-9+/]+={0,2})$/i;
/** Bytes near the begin of a file that show its type, as Latin-1 text. */
const TYPES: readonly [type: string, at: number, text: string][] = [
  ["image/png", 0, "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", 0, "\xff\xd8\xff"],
  ["image/gif", 0, "GIF8"],
  ["image/webp", 8, "WEBP"],
];
const SNIFFED_BYTES = 16;
export const TYPES_SENTENCE = "a PNG, JPEG, WebP or GIF image";

/** Stands in stored parts in place of a `data:` URL. */
export const shortenData = (url: string): string => `${url.slice(0, url.indexOf(",") + 1)}…`;

export const isData = (url: string): boolean => /^data:/i.test(url);

/** Reads an image from a `data:` URL, whose bytes decide its type; null: it holds none. */
export function readData(url: string): string | null {
  const base64 = DATA.exec(url)?.[1];
  if (base64 === undefined || base64.length % 4 !== 0) return null;
  const type = detectType(Buffer.from(base64.slice(0, 2 * SNIFFED_BYTES), "base64"));
  return type === null ? null : `data:${type};base64,${base64}`;
}

/** Writes an image as a `data:` URL of the type that its bytes show; null: they are none. */
export function writeData(bytes: Uint8Array): string | null {
  const type = detectType(bytes);
  return type && `data:${type};base64,${Buffer.from(bytes).toString("base64")}`;
}

function detectType(bytes: Uint8Array): string | null {
  const begin = Buffer.from(bytes.subarray(0, SNIFFED_BYTES)).toString("latin1");
  return TYPES.find(([, at, text]) => begin.startsWith(text, at))?.[0] ?? null;
}

/** The images that are content from outside, unlike those that the caller sends itself. */
export function listFetched(content: MessagePart[] | undefined) {
  return listImages(content).filter(({ url }) => !isData(url));
}

/** Loads the images of a run, and the newest ones of its thread before it. */
export async function loadImages(
  store: Pick<RunStore, "listImages">,
  row: RunRow,
  messages: readonly Pick<Message, "run_id" | "parts">[],
): Promise<Map<string, string>> {
  const images = new Map<string, string>();
  const add = async (run_id: string) => {
    const rows = await store.listImages(run_id);
    for (const { place, url } of rows) images.set(nameImage({ run_id, place }), url);
    return rows.reduce((sum, { url }) => sum + url.length, 0);
  };
  if (listImages(row.input.content).length > 0) await add(row.id);
  let [left, characters] = [EARLIER_MAX, EARLIER_CHARACTERS_MAX];
  for (const { run_id, parts } of messages.toReversed()) {
    const { length } = listImages(parts);
    if (length === 0 || run_id === row.id) continue;
    left -= length;
    if (left < 0 || characters < 0) break;
    characters -= await add(run_id);
  }
  return images;
}

/** The images of a run that are not stored yet. */
export function listMissing(row: RunRow, images: ReadonlyMap<string, string>) {
  return listImages(row.input.content).filter(
    ({ place }) => !images.has(nameImage({ run_id: row.id, place })),
  );
}

type Fetched = { ok: true; url: string } | { ok: false; mayRetry: boolean; reason: string };

/** Fetches and stores the images that a run names by address; another attempt fetches the rest. */
export async function fetchImages(context: RunContext): Promise<StepResult> {
  const { state, control, deps } = context;
  for (const { place, url } of listMissing(state.row, state.images)) {
    let timeoutMs = TIMEOUT_MS;
    for (let attempts = 1; ; attempts++) {
      const startedAt = deps.clock.monotonic();
      const fetched = await fetchImage(context, url, { freeBytes: countFree(state), timeoutMs });
      timeoutMs -= deps.clock.monotonic() - startedAt;
      if (control.signal.aborted) return "interrupted";
      if (fetched.ok) {
        await context.storeImage(place, fetched.url);
        break;
      }
      const isLast = attempts === ATTEMPTS_MAX || timeoutMs < ATTEMPT_MS_MIN;
      if (!fetched.mayRetry || isLast) {
        const message = `The image \`input.content.${place}\` could not be read. ${fetched.reason}`;
        return context.finish(failure("image_unavailable", message));
      }
      const parked = await control.park(FIRST_RETRY_WAIT_MS * 2 ** (attempts - 1));
      if (parked === "interrupted") return "interrupted";
      if (parked === "draining") return context.release();
    }
  }
  return "next";
}

/** Bytes that the images of a run still may have. */
function countFree({ row, images }: RunState): number {
  let free = RUN_BYTES_MAX;
  for (const { place } of listImages(row.input.content)) {
    const url = images.get(nameImage({ run_id: row.id, place })) ?? "";
    free -= Buffer.byteLength(url.slice(url.indexOf(",") + 1), "base64");
  }
  return free;
}

async function fetchImage(
  { deps, control }: RunContext,
  url: string,
  { freeBytes, timeoutMs }: { freeBytes: number; timeoutMs: number },
): Promise<Fetched> {
  const bytesMax = Math.max(0, Math.min(IMAGE_BYTES_MAX, freeBytes));
  const reply = await deps.egress.request({
    url,
    method: "GET",
    headers: HEADERS,
    redirects: REDIRECTS_MAX,
    timeoutMs,
    responseBytesMax: bytesMax,
    signal: control.signal,
  });
  const fail = (reason: string, mayRetry = false): Fetched => ({ ok: false, mayRetry, reason });
  if (!reply.ok) return fail(reply.message, reply.code !== "forbidden");
  const { status, body, truncated } = reply;
  if (isRedirect(reply)) return fail(`The address redirects more than ${REDIRECTS_MAX} times.`);
  if (status !== 200) {
    const mayRetry = status === 429 || status >= 500;
    return fail(`The server answered with status ${status}.`, mayRetry);
  }
  if (truncated) return fail(`It is longer than the ${bytesMax} bytes that it may have.`);
  const data = writeData(body);
  return data === null
    ? fail(`What the server sent is not ${TYPES_SENTENCE}.`)
    : { ok: true, url: data };
}
