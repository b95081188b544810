// Sessions of operators in the console: links to sign in, the operator behind a cookie, the end.
import {
  type FoundSession,
  hashSecret,
  isActive,
  makeLink,
  makeSession,
  type Operator,
  OperatorSession,
  sessionStore,
} from "../access/index.ts";
import type { SessionClient } from "../http/index.ts";
import { show } from "../platform/schema.ts";
import { type Sweep, sweepRows } from "../retention/index.ts";
import type { Actor, AuditLog } from "./audit.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError } from "./errors.ts";
import { noteLastSeen } from "./last-seen.ts";
import { chooseOperator } from "./link-operator.ts";
import type { OperatorAdmin } from "./operators.ts";

/** Time for which a link that is over can still be told from an unknown one. */
const LINKS_KEPT_MS = 86_400_000;

type SignIn =
  | { kind: "ok"; operator: Operator; session: OperatorSession; token: string }
  | { kind: "unknown" | "used" | "expired" | "revoked" };

interface NewLink {
  operator: Operator;
  token: string;
  expires_at: number;
}

interface SessionAdminParts {
  operators: OperatorAdmin;
  audit: AuditLog;
}

export function createSessionAdmin(deps: AdminDeps, { operators, audit }: SessionAdminParts) {
  const { database, clock, settings } = deps;
  const sessions = database.bind(sessionStore);

  return {
    list: (): Promise<OperatorSession[]> => sessions.list(clock.now()),
    find: (id: string): Promise<OperatorSession | undefined> => sessions.findById(id),
    /** Takes effect at the session's next request; undefined for an unknown id. */
    end: (id: string): Promise<OperatorSession | undefined> => sessions.end(id),
    /** Returns the link's token; only its hash is stored. */
    async createLink(as: string | undefined, actor: Actor): Promise<NewLink> {
      if (!settings.operator.enabled) {
        throw new AdminError("the console is switched off by operator.enabled", "conflict");
      }
      // The 30 days of a session are a maximum.
      if (actor.via === "console") {
        throw new AdminError("a session makes no links: run `wadi console`");
      }
      const operator = await chooseOperator(operators, as, actor, clock.now());
      const { stored, token } = makeLink(deps, operator.id);
      await sessions.createLink(stored);
      return { operator, token, expires_at: stored.expires_at };
    },
    /** Begins a session for a link's token, once. */
    async signIn(token: string, client: SessionClient): Promise<SignIn> {
      const link_hash = hashSecret(token);
      const link = await sessions.findLink(link_hash);
      if (!link) return { kind: "unknown" };
      if (link.link_used_at !== null) return { kind: "used" };
      if (link.link_expires_at <= clock.now()) return { kind: "expired" };
      if (!isActive(link, clock.now())) return { kind: "revoked" };
      const { stored, token: cookie } = makeSession(deps, link, client);
      const session = { ...stored, operator: link.name };
      const change = await audit.begin({
        actor: { kind: "operator", name: link.name, via: "console" },
        ...{ operation: "console sign-in", target: stored.id, before: null },
      });
      if (await sessions.trade(link_hash, stored)) {
        await change.end(stored.id, show(OperatorSession, session));
        return { kind: "ok", operator: link, session, token: cookie };
      }
      await change.fail(new AdminError("another request has used the link"));
      return { kind: "used" };
    },
    /** Finds who a token's hash belongs to, if session and operator are in force. */
    async identify(token_hash: string): Promise<FoundSession | undefined> {
      const found = await sessions.find(token_hash);
      const now = clock.now();
      if (!found || found.session_expires_at <= now || !isActive(found, now)) return undefined;
      const seen = { seenAt: found.session_seen_at, now };
      await noteLastSeen(seen, () => sessions.noteSeen(found.session_id, now));
      return found;
    },
  };
}

export type SessionAdmin = ReturnType<typeof createSessionAdmin>;

export function createSessionSweeps({ database }: Pick<AdminDeps, "database">): Sweep[] {
  const sessions = database.bind(sessionStore);
  return [
    {
      what: "sessions of the console",
      run: (now, isStopping) => sweepRows(isStopping, (limit) => sessions.sweep(now, limit)),
    },
    {
      what: "links to the console",
      run: (now, isStopping) =>
        sweepRows(isStopping, (limit) => sessions.sweepLinks(now - LINKS_KEPT_MS, limit)),
    },
  ];
}
