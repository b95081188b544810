// Operations on another machine: the server's address, its token, and requests to its API.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import { AdminError, approvalOperations, type PerformOperation } from "../admin/index.ts";
import { isLoopback, type JsonReply, requestJson } from "../net/index.ts";
import { ERROR_CODES } from "../platform/errors.ts";
import { parseJson } from "../platform/json.ts";
import { type CommandInput, readText, UsageError } from "./command.ts";
import type { Output } from "./output.ts";

export interface RemoteServer {
  /** Without a slash at the end. */
  url: string;
  token: string;
  /** The token of `wadi dev`, which everybody knows: none is kept for the server. */
  isGuessed?: boolean;
}

/** First key of `wadi dev`, which everybody knows. */
export const DEV_KEY = "svc_sk_dev";

export const writeOperatorToken = (firstKey: string): string => `${firstKey}-operator`;

const UNAUTHORIZED = 401;

/** Maximum time of an operation; deletions of much data take minutes. */
const TIMEOUT_MS = 600_000;

/** Finds the server of --server or WADI_SERVER_URL; undefined for local data. */
export function findServer(input: CommandInput): RemoteServer | undefined {
  const typed = readText(input, "server") ?? process.env.WADI_SERVER_URL;
  if (!typed) return undefined;
  const url = readServerUrl(typed);
  const token = process.env.WADI_OPERATOR_TOKEN || readProfiles()[url];
  if (token) return { url, token };
  if (isLoopback(new URL(url).hostname))
    return { url, token: writeOperatorToken(DEV_KEY), isGuessed: true };
  throw new AdminError(explainNoToken(url));
}

const explainNoToken = (url: string) =>
  `there is no token for ${url}: keep one with \`wadi login ${url}\`, or set WADI_OPERATOR_TOKEN`;

/** Timeout of the question whether a server answers. */
const LOOK_MS = 2_000;

/** Tells whether an operator API answers at an address, which asks for a token. */
export async function isServing(url: string): Promise<boolean> {
  const question = { method: "GET", headers: {}, timeoutMs: LOOK_MS };
  const reply = await requestJson(`${url}/operator/v1/status`, question).catch(() => undefined);
  return reply?.status === UNAUTHORIZED && findErrorMessage(reply.value) !== undefined;
}

/** Accepts an address with or without a slash at the end. */
export function readServerUrl(typed: string): string {
  const url = URL.parse(typed);
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  // Never echo it: it may hold a password.
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw new UsageError("a server is given as http://HOST:PORT or https://HOST");
  }
  return url.href.replace(/\/+$/, "");
}

/** Tells where a token or key could be read on its way. */
export function warnOfClearText(url: string, output: Pick<Output, "say">): void {
  const { protocol, hostname, host } = new URL(url);
  if (protocol === "https:" || isLoopback(hostname)) return;
  output.say(`warning: the token travels unencrypted to ${host}: use https, or a tunnel`);
}

export function openRemote({ url, token, isGuessed }: RemoteServer): PerformOperation {
  return async (operation, request) => {
    const { method, path } = operation;
    const filled = fillPath(path, request as Record<string, unknown>);
    const hasBody = method !== "GET" && method !== "DELETE";
    const query = hasBody ? "" : writeQuery(filled.rest);
    const reply = await requestJson(`${url}/operator/v1${filled.path}${query}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(hasBody && { "content-type": "application/json" }),
      },
      body: hasBody ? JSON.stringify(filled.rest) : undefined,
      timeoutMs: TIMEOUT_MS,
    }).catch((failure: Error) => {
      throw new AdminError(`${url} cannot be reached: ${failure.message}`);
    });
    if (reply.isGood && resembles(operation.reply, reply.value)) return reply.value as never;
    if (isGuessed && reply.status === UNAUTHORIZED) throw new AdminError(explainNoToken(url));
    throw new AdminError(explainReply(url, reply));
  };
}

/** Tells a reply from that of another kind of server; a newer one may add fields. */
function resembles(schema: TSchema, value: unknown): boolean {
  if (schema.type === "array") return Array.isArray(value);
  if (typeof value !== "object" || value === null) return false;
  const required: readonly string[] = schema.required ?? [];
  return required.every((name) => Object.hasOwn(value, name));
}

function explainReply(url: string, { status, value }: JsonReply): string {
  const message = findErrorMessage(value);
  // A path that is unknown there is no fault of the command.
  if (message !== undefined && message !== ERROR_CODES.not_found.message) return message;
  return `${url} has no operator API for this client: it answered ${status}`;
}

/** Finds the sentence of an error reply of this program's servers. */
export function findErrorMessage(reply: unknown): string | undefined {
  const message = (reply as { error?: { message?: unknown } } | null | undefined)?.error?.message;
  return typeof message === "string" ? message : undefined;
}

function fillPath(path: string, request: Record<string, unknown>) {
  const rest = { ...request };
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = rest[name];
    delete rest[name];
    // Such a part of a path would be another path.
    if (["", ".", ".."].includes(String(value))) throw new AdminError(`there is no "${value}"`);
    return encodeURIComponent(String(value));
  });
  return { path: filled, rest };
}

function writeQuery(values: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "object" && value !== null) {
      for (const [part, text] of Object.entries(value)) query.set(`${name}[${part}]`, String(text));
    } else if (value !== undefined) query.set(name, String(value));
  }
  return query.size === 0 ? "" : `?${query}`;
}

/** Throws unless the server accepts the token; an approver may list approvals only. */
export async function checkToken(server: RemoteServer): Promise<void> {
  await openRemote(server)(approvalOperations.list, { limit: 1 });
}

/** Tokens by the address of their server. */
type Profiles = Readonly<Record<string, string>>;

function placeProfiles(): string {
  return join(process.env.XDG_CONFIG_HOME || join(homedir(), ".config"), "wadi", "servers.json");
}

function readProfiles(): Profiles {
  const file = placeProfiles();
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw failure;
  }
  const profiles = parseJson(text);
  if (typeof profiles === "object" && profiles !== null) return profiles as Profiles;
  throw new AdminError(`${file} holds no tokens: remove it and run \`wadi login URL\` again`);
}

/** Keeps a token in a file that only its owner can read; returns the file's name. */
export function keepToken({ url, token }: RemoteServer): string {
  const file = placeProfiles();
  const profiles = { ...readProfiles(), [url]: token };
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const aside = `${file}.${process.pid}`;
  writeFileSync(aside, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(aside, file);
  return file;
}
