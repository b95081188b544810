// Reads bodies within limits of bytes and time, and JSON within a limit of depth.
import type { Clock } from "../platform/clock.ts";
import { ApiError, apiError } from "../platform/errors.ts";
import { shorten } from "../platform/text.ts";
import type { RequestRecorder } from "./route.ts";

/** Maximum depth; deeper JSON can be parsed but not written again. */
const DEPTH_MAX = 64;
/** Maximum time for a body, also of a sender that sends single bytes. */
const BODY_TIMEOUT_MS = 30_000;

const JSON_TYPE = /^application\/(?:[\w.-]{1,64}\+)?json[ \t]*(?:;|$)/i;
const utf8 = new TextDecoder("utf-8", { fatal: true });

type Counted = Pick<RequestRecorder, "request_bytes">;

/** Reads JSON; an empty body is `{}`. Refuses one that is too large, late, deep or malformed. */
export async function readJson(
  request: Request,
  bytesMax: number,
  clock: Clock,
  counted?: Counted,
): Promise<unknown> {
  const bytes = await readBytes(request, bytesMax, clock, counted);
  if (bytes.length === 0) return {};
  const type = request.headers.get("content-type");
  if (type !== null && !JSON_TYPE.test(type)) {
    throw apiError("validation", { message: "The content type must be application/json." });
  }
  const parsed = parseBody(bytes);
  if (!("fault" in parsed)) return parsed.value;
  const { fault: message, param } = parsed;
  throw apiError("validation", {
    message,
    ...(param !== undefined && { param }),
  });
}

interface BodyFault {
  fault: string;
  param?: string;
}

/** Parses a JSON text; an empty text is malformed. */
export function parseBody(bytes: Uint8Array): { value: unknown } | BodyFault {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { fault: "The body is not valid UTF-8." };
  }
  const deep = findTooDeep(text);
  if (deep) return deep;
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { fault: "The body is not valid JSON." };
  }
}

export async function readBytes(
  request: Request,
  bytesMax: number,
  clock: Clock,
  counted?: Counted,
): Promise<Uint8Array> {
  const announced = checkLength(request, bytesMax, counted);
  // A body of announced length cannot exceed it, and is read at half the cost.
  const reader = announced === null ? request.body?.getReader() : undefined;
  const whole = announced === null ? readPieces(reader, bytesMax, counted) : request.bytes();
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(BODY_TIMEOUT_MS, () => {
    late.reject(apiError("validation", { message: "The body did not arrive in time." }));
  });
  try {
    return await Promise.race([whole, late.promise]);
  } catch (failure) {
    // `closeAfterReply` discards the rest.
    reader?.releaseLock();
    // The connection is closed, so this error is not sent.
    throw failure instanceof ApiError ? failure : apiError("client_closed_request");
  } finally {
    cancel();
  }
}

/** Refuses a body announced beyond the limit; returns the announced length. */
export function checkLength(request: Request, bytesMax: number, counted?: Counted): number | null {
  const header = request.headers.get("content-length");
  const announced = header === null ? Number.NaN : Number(header);
  // A header sent twice arrives as `5, 5`: such a body is counted while it is read.
  if (Number.isNaN(announced)) return null;
  if (counted) counted.request_bytes = announced;
  if (announced > bytesMax) throw tooLarge(bytesMax);
  return announced;
}

async function readPieces(
  reader: Pick<ReadableStreamDefaultReader<Uint8Array>, "read"> | undefined,
  bytesMax: number,
  counted?: Counted,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const piece = (await reader?.read())?.value;
    if (!piece) break;
    length += piece.length;
    if (counted) counted.request_bytes = length;
    if (length > bytesMax) throw tooLarge(bytesMax);
    pieces.push(piece);
  }
  return Buffer.concat(pieces, length);
}

/** gateway.errors.request_too_large, agents.errors.p10 */
function tooLarge(bytesMax: number): ApiError {
  const message = `The body is larger than ${bytesMax / 1024} KB.`;
  return apiError("request_too_large", { message });
}

/** Counts brackets outside of strings; malformed JSON is left to the parser. */
function findTooDeep(text: string): BodyFault | null {
  let depth = 0;
  /** Start of the last string on the top level; before a bracket it is a field's name. */
  let nameAt = -1;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > DEPTH_MAX) return explainDepth(text, nameAt);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      case 0x22: // "
        if (depth === 1) nameAt = i;
        i = findStringEnd(text, i);
        break;
    }
  }
  return null;
}

function explainDepth(text: string, nameAt: number): BodyFault {
  if (nameAt === -1 || !text.trimStart().startsWith("{")) {
    return { fault: `The body is nested deeper than ${DEPTH_MAX} levels.` };
  }
  const param = shorten(text.slice(nameAt + 1, findStringEnd(text, nameAt)));
  return {
    fault: `\`${param}\` is nested deeper than ${DEPTH_MAX - 1} levels.`,
    param,
  };
}

function findStringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
