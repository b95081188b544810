// Serves the console's page at every path below /console, under a policy that names its parts.
import {
  type OperatorRoute,
  type OwnAddresses,
  requireOwnHost,
  type StaticPage,
} from "../http/index.ts";
import { ApiError, apiError } from "../platform/errors.ts";
import { bundleConsole } from "./bundle.ts";
import source from "./client/index.html" with { type: "file" };

/** The executable holds the bundled page, packed by scripts/build.ts. */
const file = Bun.file(source as unknown as string);
const GZIP_BEGIN = 0x1f;
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
  let loaded: Promise<Page> | undefined;
  const answer = async (request: Request): Promise<Response> => {
    if (!isEnabled()) throw apiError("not_found");
    // A person reads why, where each request of the page would be refused.
    const refusal = findRefusal(() => requireOwnHost(request, own));
    if (refusal) return new Response(`${refusal.message}\n`, { status: refusal.status });
    loaded ??= loadPage();
    return respond(await loaded, request);
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

interface Page {
  packed: Uint8Array<ArrayBuffer>;
  etag: string;
  policy: string;
}

async function loadPage(): Promise<Page> {
  const bytes = await file.bytes();
  const packed =
    bytes[0] === GZIP_BEGIN ? bytes : Bun.gzipSync(await bundleConsole(), { level: 9 });
  const html = new TextDecoder().decode(Bun.gunzipSync(packed));
  return { packed, etag: `"${hash(html).slice(0, 22)}"`, policy: writePolicy(html) };
}

function respond({ packed, etag, policy }: Page, request: Request): Response {
  const headers = new Headers({
    etag,
    "cache-control": "no-cache",
    "content-security-policy": policy,
    "content-type": "text/html; charset=utf-8",
    "referrer-policy": "no-referrer",
    vary: "Accept-Encoding",
    "x-content-type-options": "nosniff",
  });
  if (request.headers.get("if-none-match") === etag)
    return new Response(null, { status: 304, headers });
  if (!request.headers.get("accept-encoding")?.includes("gzip")) {
    return new Response(Bun.gunzipSync(packed), { headers });
  }
  headers.set("content-encoding", "gzip");
  return new Response(packed, { headers });
}

/** Allows exactly the script and the style of the page, and requests to its own server. */
function writePolicy(html: string): string {
  const list = (element: RegExp) =>
    [...html.matchAll(element)].map(([, text]) => `'sha256-${hash(text!)}'`).join(" ");
  return [
    "default-src 'none'",
    `script-src ${list(/<script type="module">(.*?)<\/script>/gs)}`,
    `style-src ${list(/<style>(.*?)<\/style>/gs)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function hash(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("base64");
}
