// Serves the console's page at every path below /console, under a policy that names its scripts.
import {
  type OperatorRoute,
  type OwnAddresses,
  requireOwnHost,
  type StaticPage,
} from "../http/index.ts";
import { ApiError, apiError } from "../platform/errors.ts";
import { bundleConsole, hashSource } from "./bundle.ts";
import source from "./client/index.html" with { type: "file" };
import { packFiles, unpackFiles } from "./packed-files.ts";

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

interface ServedFile {
  packed: Uint8Array<ArrayBuffer>;
  etag: string;
  type: string;
  policy: string;
}

async function loadFiles() {
  const bytes = await file.bytes();
  const isSource = bytes[0] === HTML_BEGIN;
  const packed = unpackFiles(isSource ? packFiles(await bundleConsole()) : bytes);
  const [page, later, arabic] = [packed.page, packed.later, packed.arabic].map(unzip);
  const policy = writePolicy(page!, [later!, arabic!]);
  const describe = (text: string, type: string) => ({
    ...{ policy, etag: `"${hashSource(text)}"`, type: `${type}; charset=utf-8` },
  });
  const script = (text: string) => describe(text, "text/javascript");
  return {
    page: { packed: packed.page, ...describe(page!, "text/html") } satisfies ServedFile,
    scripts: new Map<string, ServedFile>([
      [`${HOME}later.js`, { packed: packed.later, ...script(later!) }],
      [`${HOME}arabic.js`, { packed: packed.arabic, ...script(arabic!) }],
    ]),
  };
}

const unzip = (bytes: Uint8Array<ArrayBuffer>) => new TextDecoder().decode(Bun.gunzipSync(bytes));

function respond({ packed, etag, type, policy }: ServedFile, request: Request): Response {
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
    return new Response(Bun.gunzipSync(packed), { headers });
  }
  headers.set("content-encoding", "gzip");
  return new Response(packed, { headers });
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
