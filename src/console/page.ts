// Serves the console's page at every path below /console, under a policy that names its scripts.
import {
  type OperatorRoute,
  type OwnAddresses,
  requireOwnHost,
  type StaticPage,
} from "../http/index.ts";
import { ApiError, apiError } from "../platform/errors.ts";
import { bundleConsole } from "./bundle.ts";
import source from "./client/index.html" with { type: "file" };
import { hashSource, unpackFiles } from "./packed-files.ts";

/** The executable holds the bundled files in its place, packed by scripts/packer.ts. */
const file = Bun.file(source as unknown as string);
const HTML_BEGIN = "<".charCodeAt(0);
const HOME = "/console/";

/** Leads people who leave out the last slash. */
export const consoleRedirect: StaticPage = {
  path: "/console",
  answer: () => Response.redirect(HOME, 308),
};

interface ConsoleOptions {
  isEnabled(): boolean;
  own: OwnAddresses;
}

/** The page is answered where the operator API is, under the same policy. */
export function createConsoleRoutes({ isEnabled, own }: ConsoleOptions): OperatorRoute[] {
  let loaded: ReturnType<typeof loadFiles> | undefined;
  const answer = async (request: Request): Promise<Response> => {
    if (!isEnabled()) throw apiError("not_found");
    // A person reads why, where each request of the page would be refused.
    const refusal = findRefusal(() => requireOwnHost(request, own));
    if (refusal) return new Response(`${refusal.message}\n`, { status: refusal.status });
    loaded ??= loadFiles();
    const { page, scripts } = await loaded;
    return respond(scripts.get(new URL(request.url).pathname) ?? page, request);
  };
  return [HOME, `${HOME}*`].map((path) => ({ method: "GET", path, answer }));
}

function findRefusal(check: () => void): ApiError | undefined {
  try {
    check();
    return undefined;
  } catch (failure) {
    if (failure instanceof ApiError) return failure;
    throw failure;
  }
}

/** Smaller by a twentieth than the level 9 of zlib, and slower. */
const SMALLEST = { library: "libdeflate", level: 12 } as const;

interface ServedFile {
  text: string;
  packed?: Uint8Array<ArrayBuffer>;
  etag: string;
  type: string;
  policy: string;
}

async function loadFiles() {
  const bytes = await file.bytes();
  const isSource = bytes[0] === HTML_BEGIN;
  const { page, later, arabic } = isSource ? await bundleConsole() : unpackFiles(bytes);
  const policy = writePolicy(page, [later, arabic]);
  const serve = (text: string, type: string): ServedFile => {
    return { text, policy, etag: `"${hashSource(text)}"`, type: `${type}; charset=utf-8` };
  };
  return {
    page: serve(page, "text/html"),
    scripts: new Map([
      [`${HOME}later.js`, serve(later, "text/javascript")],
      [`${HOME}arabic.js`, serve(arabic, "text/javascript")],
    ]),
  };
}

function respond(file: ServedFile, request: Request): Response {
  const { text, etag, type, policy } = file;
  const headers = new Headers({
    etag,
    "cache-control": "no-cache",
    "content-security-policy": policy,
    "content-type": type,
    "referrer-policy": "no-referrer",
    vary: "Accept-Encoding",
    "x-content-type-options": "nosniff",
  });
  if (request.headers.get("if-none-match") === etag)
    return new Response(null, { status: 304, headers });
  if (!request.headers.get("accept-encoding")?.includes("gzip")) {
    return new Response(text, { headers });
  }
  headers.set("content-encoding", "gzip");
  // Once a file and process: it takes 20 ms.
  file.packed ??= Bun.gzipSync(text, SMALLEST);
  return new Response(file.packed, { headers });
}

/** Allows exactly the scripts and the style of the page, and requests to its own server. */
function writePolicy(page: string, scripts: readonly string[]): string {
  const list = (texts: readonly string[]) => texts.map((text) => `'${hashSource(text)}'`).join(" ");
  const find = (element: RegExp) => [...page.matchAll(element)].map(([, text]) => text!);
  return [
    "default-src 'none'",
    `script-src ${list([...find(/<script>(.*?)<\/script>/gs), ...scripts])}`,
    `style-src ${list(find(/<style>(.*?)<\/style>/gs))}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
