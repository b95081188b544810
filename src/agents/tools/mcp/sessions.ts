// Sessions with MCP servers: which revision a server speaks, the handshake, and when it is over.
import type { Cancel } from "../../../platform/clock.ts";
import { isObject, readObject } from "../../../platform/json.ts";
import { SizeCache } from "../../../platform/size-cache.ts";
import { SESSION_REVISIONS, STATELESS_REVISION } from "./messages.ts";
import type { McpFailure } from "./transport.ts";
import {
  type Budget,
  CLIENT_INFO,
  type McpTarget,
  META,
  makeEnvelope,
  type Wire,
  writeStateless,
} from "./wire.ts";

/** Time without a request after which a session is ended. */
const IDLE_MS = 300_000;
const SESSIONS_MAX = 200;
const SESSION_ID = /^[!-~]{1,512}$/;
/** Characters of the addresses whose revision is remembered. */
const KNOWN_CHARACTERS_MAX = 200_000;
const TITLE_CHARACTERS_MAX = 128;

export interface Session {
  revision: string;
  isStateless: boolean;
  /** Takes calls as tasks where the request asks for that. */
  takesTasks: boolean;
  id: string | null;
  /** The name that the server gives itself; null: it gives none. */
  title: string | null;
  /** Headers of every further request. */
  headers: Readonly<Record<string, string>>;
}

interface Held {
  target: McpTarget;
  session: Session;
  cancelIdle: Cancel;
}

export class Sessions {
  readonly #wire: Wire;
  readonly #held = new Map<string, Held>();
  /** Revisions of servers by their address. */
  readonly #revisions = new SizeCache<string>(KNOWN_CHARACTERS_MAX);

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  async open(target: McpTarget, budget: Budget): Promise<Session | McpFailure> {
    const held = this.#held.get(target.session);
    const opened = held?.session ?? (await this.#begin(target, budget));
    if (!("ok" in opened)) this.#keep(target, opened);
    return opened;
  }

  /** Forgets a session that the server does not know any more, and its revision with it. */
  forget({ session, url }: McpTarget): void {
    this.#revisions.set(url, "", 0);
    this.#drop(session);
  }

  /** Ends a session that is not needed any more. */
  end(target: McpTarget): void {
    const held = this.#drop(target.session);
    if (!held || held.session.id === null) return;
    void this.#wire.end(held.target, held.session.headers);
  }

  #drop(name: string): Held | undefined {
    const held = this.#held.get(name);
    held?.cancelIdle();
    this.#held.delete(name);
    return held;
  }

  /** Keeps a session for further requests; of too many the one that rested longest is ended. */
  #keep(target: McpTarget, session: Session): void {
    this.#drop(target.session);
    const cancelIdle = this.#wire.clock.after(IDLE_MS, () => this.end(target));
    this.#held.set(target.session, { target, session, cancelIdle });
    if (this.#held.size <= SESSIONS_MAX) return;
    const [oldest] = this.#held.values();
    this.end(oldest!.target);
  }

  async #begin(target: McpTarget, budget: Budget): Promise<Session | McpFailure> {
    const { url, adopted } = target;
    const [newest] = SESSION_REVISIONS;
    // Only that revision has tasks, for which sessions are taken over.
    if (adopted) return takeTasks(makeSession(newest!, adopted));
    const known = this.#revisions.get(url) || null;
    if (known === STATELESS_REVISION) return makeSession(STATELESS_REVISION);
    const first = known === null ? null : await this.#initialize(target, budget);
    const session = first && !isRefusal(first) ? first : await this.#detect(target, budget, first);
    // The request itself, which waits for the session, never left.
    if ("ok" in session) return { ...session, sent: false };
    if (known !== null && known !== session.revision) this.#dropAll(url);
    this.#revisions.set(url, session.revision, url.length);
    return session;
  }

  /** Finds the revision; `refusal` is the one of a handshake that was tried before. */
  async #detect(
    target: McpTarget,
    budget: Budget,
    refusal: Session | McpFailure | null,
  ): Promise<Session | McpFailure> {
    const found = await this.#discover(target, budget);
    return found ?? refusal ?? this.#initialize(target, budget);
  }

  /** Forgets the sessions of a server that another version of it has replaced. */
  #dropAll(url: string): void {
    for (const [name, { target }] of this.#held) if (target.url === url) this.#drop(name);
  }

  /** Asks as a stateless server is asked; null: it is none. */
  async #discover(target: McpTarget, budget: Budget): Promise<Session | McpFailure | null> {
    const method = "server/discover";
    const { outcome } = await this.#wire.request(target, budget, {
      method,
      params: { _meta: makeEnvelope() },
      headers: writeStateless(method, null),
    });
    if (!outcome.ok) return isRefusal(outcome) ? null : outcome;
    const { result } = outcome.answer;
    const versions = result?.supportedVersions;
    if (!Array.isArray(versions) || !versions.includes(STATELESS_REVISION)) return null;
    const meta = isObject(result!._meta) ? result!._meta : {};
    return makeSession(STATELESS_REVISION, null, meta[`${META}serverInfo`]);
  }

  async #initialize(target: McpTarget, budget: Budget): Promise<Session | McpFailure> {
    const [newest] = SESSION_REVISIONS;
    const { outcome } = await this.#wire.request(target, budget, {
      method: "initialize",
      params: { protocolVersion: newest, capabilities: {}, clientInfo: CLIENT_INFO },
      headers: {},
    });
    if (!outcome.ok) return outcome;
    const { result, error } = outcome.answer;
    // The server's own words could reach a model, which would not know that they are outside text.
    if (!result) return fail(`The server refused the handshake (${error!.code}).`);
    const { protocolVersion, serverInfo, capabilities } = result;
    const revision = SESSION_REVISIONS.find((one) => one === protocolVersion);
    if (!revision) return fail("The server speaks no revision of the protocol that is known here.");
    const id = outcome.header("mcp-session-id");
    if (id !== null && !SESSION_ID.test(id)) return fail("The server's session id is invalid.");
    const { requests } = readObject(readObject(capabilities).tasks);
    const { call } = readObject(readObject(requests).tools);
    const made = makeSession(revision, id, serverInfo);
    const session = revision === newest && isObject(call) ? takeTasks(made) : made;
    const message = { method: "notifications/initialized" };
    const failure = await this.#wire.note(target, session.headers, message, budget);
    return failure ?? session;
  }
}

const takeTasks = (session: Session): Session => ({ ...session, takesTasks: true });

function makeSession(revision: string, id: string | null = null, info: unknown = null): Session {
  const isStateless = revision === STATELESS_REVISION;
  const named = isObject(info) ? (info.title ?? info.name) : null;
  const title = typeof named === "string" ? named.slice(0, TITLE_CHARACTERS_MAX) : null;
  const headers = {
    "mcp-protocol-version": revision,
    ...(id !== null && { "mcp-session-id": id }),
  };
  const own = { takesTasks: false, headers: isStateless ? {} : headers };
  return { revision, isStateless, id, title, ...own };
}

/** Tells a refusal, which may be of the revision alone, from a server that cannot be used now. */
function isRefusal(opened: Session | McpFailure): opened is McpFailure {
  if (!("ok" in opened)) return false;
  const { sent, code, status } = opened;
  if (!sent || code === "timeout" || code === "aborted" || code === "reset") return false;
  return status !== 401 && status !== 403 && (status === null || status < 500);
}

function fail(message: string): McpFailure {
  return { ok: false, code: "no_answer", sent: true, status: null, message };
}
