// Links to approvals, which operators make for teammates without a token.
import { type ApprovalLink, approvalLinkStore, makeApprovalLink } from "../access/index.ts";
import { type Sweep, sweepRows } from "../retention/index.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { ApprovalAdmin } from "./approvals.ts";
import type { Actor } from "./audit.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError, requireById } from "./errors.ts";
import { chooseOperator } from "./link-operator.ts";
import type { OperatorAdmin } from "./operators.ts";

const LIFETIME_MS = 86_400_000;
const LIFETIME_MS_MAX = 30 * 86_400_000;
/** Time for which a link that is over can still be told from an unknown one. */
const LINKS_KEPT_MS = 86_400_000;

export interface ApprovalLinkRequest {
  /** The only approval; undefined where `account` is given. */
  id?: string | undefined;
  account?: string | undefined;
  person: string;
  lifetimeMs?: number | undefined;
  /** Operator who answers for it. */
  as?: string | undefined;
}

interface CreatedLink {
  link: ApprovalLink;
  token: string;
  /** Address of the console that people open; null: the settings name none. */
  origin: string | null;
}

interface ApprovalLinkParts {
  approvals: ApprovalAdmin;
  operators: OperatorAdmin;
  directory: AccountDirectory;
}

export function createApprovalLinkAdmin(deps: AdminDeps, parts: ApprovalLinkParts) {
  const { database, clock, settings } = deps;
  const { approvals, operators, directory } = parts;
  const links = database.bind(approvalLinkStore);

  async function chooseScope({ id, account, lifetimeMs }: ApprovalLinkRequest) {
    const expires_at = clock.now() + checkLifetime(lifetimeMs);
    if (id === undefined && account !== undefined) {
      return { account_id: (await directory.require(account)).id, approval_id: null, expires_at };
    }
    if (id === undefined || account !== undefined) {
      throw new AdminError("a link shows one approval, or those of an account: name either");
    }
    const { account_id, status, ...found } = await requireById("approval", id, approvals.find);
    if (status !== "pending" || found.expires_at <= clock.now()) {
      throw new AdminError(`the approval ${found.id} does not wait any more`, "conflict");
    }
    const end = Math.min(expires_at, found.expires_at);
    return { account_id, approval_id: found.id, expires_at: end };
  }

  return {
    list: (): Promise<ApprovalLink[]> => links.list(clock.now()),
    find: (id: string): Promise<ApprovalLink | undefined> => links.findById(id),
    /** Ends the link or its session at the next request; undefined for an unknown id. */
    end: (id: string): Promise<ApprovalLink | undefined> => links.end(id),
    /** Returns the link's token; only its hash is stored. */
    async create(request: ApprovalLinkRequest, actor: Actor): Promise<CreatedLink> {
      const { enabled, public_url } = settings.operator;
      if (!enabled) {
        throw new AdminError("the console is switched off by operator.enabled", "conflict");
      }
      if (actor.via === "console" && request.account !== undefined) {
        // Such a link would outlive the session, which may be in wrong hands.
        throw new AdminError(
          "a session makes links to one approval only: run `wadi approvals link`",
        );
      }
      const person = checkPerson(request.person);
      const scope = await chooseScope(request);
      const { id: operator_id, name } = await chooseOperator(
        operators,
        request.as,
        actor,
        clock.now(),
      );
      const { stored, token } = makeApprovalLink(deps, { ...scope, operator_id, person });
      await links.create(stored);
      const origin = URL.parse(public_url)?.origin ?? null;
      return { link: { ...stored, operator: name }, token, origin };
    },
  };
}

export type ApprovalLinkAdmin = ReturnType<typeof createApprovalLinkAdmin>;

function checkLifetime(lifetimeMs = LIFETIME_MS): number {
  if (lifetimeMs >= 1 && lifetimeMs <= LIFETIME_MS_MAX) return lifetimeMs;
  throw new AdminError("a link to approvals ends at most 30 days from now");
}

/** Decisions show the name everywhere, so that it must read the same everywhere. */
function checkPerson(typed: string): string {
  const person = typed.trim();
  if (person !== "" && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(person)) return person;
  throw new AdminError("a link is for a name of visible characters");
}

export function createApprovalLinkSweeps({ database }: Pick<AdminDeps, "database">): Sweep[] {
  const links = database.bind(approvalLinkStore);
  return [
    {
      what: "links to approvals",
      run: (now, isStopping) =>
        sweepRows(isStopping, (limit) => links.sweep(now - LINKS_KEPT_MS, limit)),
    },
  ];
}
