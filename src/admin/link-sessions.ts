// Sessions of links to approvals: begun once, bound to their approvals, over with the decision.
import { type Static, Type } from "@sinclair/typebox";
import {
  ApprovalLink,
  approvalLinkStore,
  type FoundApprovalLink,
  hashSecret,
  isActive,
  makeLinkUse,
} from "../access/index.ts";
import { Approval, type ApprovalRow } from "../agents/index.ts";
import type { LinkCaller, OpenedLink, SessionClient } from "../http/index.ts";
import { maybe, Resource, show, Timestamp } from "../platform/schema.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { ApprovalAdmin } from "./approvals.ts";
import type { AuditLog } from "./audit.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError } from "./errors.ts";
import { noteLastSeen } from "./last-seen.ts";

const { status, decided_by } = Approval.properties;

const LinkSession = Resource("LinkSession", {
  person: Type.String({ description: "Whom the link was made for." }),
  operator: Type.String({ description: "Name of the operator who made it." }),
  account: Type.String({ description: "Account whose approvals it shows." }),
  approval_id: maybe(Type.String({ description: "The only approval; null: all of the account." })),
  tool: maybe(Type.String({ description: "Title or name of that approval's tool; null: none." })),
  expires_at: Timestamp("End of the session."),
  status: maybe(Type.Unsafe<ApprovalRow["status"]>(status)),
  decided_by,
  decided_at: maybe(Timestamp("End of the approval's wait: decided, expired or closed.")),
});

interface LinkSessionParts {
  approvals: ApprovalAdmin;
  audit: AuditLog;
  directory: AccountDirectory;
}

/** Finds links of sessions, what refuses one, and what its page is told. */
function createLinkFinder({ database, clock }: AdminDeps, parts: LinkSessionParts) {
  const { approvals, directory } = parts;
  const links = database.bind(approvalLinkStore);

  async function describe(link: FoundApprovalLink): Promise<Record<string, unknown>> {
    const { person, name: operator, approval_id, account_id, link_expires_at } = link;
    const found = approval_id === null ? undefined : await approvals.find(approval_id);
    const session: Static<typeof LinkSession> = {
      ...{ person, operator, approval_id, expires_at: link_expires_at },
      account: (await directory.names()).get(account_id) ?? "",
      tool: found ? await approvals.nameTool(found) : null,
      // A deleted run takes its approvals along.
      status: found?.status ?? (approval_id === null ? null : "closed"),
      decided_by: found?.decided_by ?? null,
      decided_at: found?.decided_at ?? null,
    };
    return show(LinkSession, session);
  }

  async function refuse(
    link: FoundApprovalLink,
  ): Promise<"expired" | "revoked" | "decided" | null> {
    const now = clock.now();
    if (!isActive(link, now)) return "revoked";
    // A link expires no later than its approval, whose expiry may not be written yet.
    if (link.link_expires_at <= now) return "expired";
    if (link.approval_id === null) return null;
    const found = await approvals.find(link.approval_id);
    return found?.status === "pending" ? null : "decided";
  }

  /** Finds the link of a session's token; its only approval may have been decided. */
  async function find(token: string): Promise<FoundApprovalLink | undefined> {
    const link = await links.find(hashSecret(token));
    const refusal = link && (await refuse(link));
    if (!link || refusal === "revoked" || refusal === "expired") return undefined;
    const now = clock.now();
    const seen = { seenAt: link.link_seen_at, now };
    await noteLastSeen(seen, () => links.noteSeen(link.link_id, now));
    return link;
  }

  return { refuse, find, describe };
}

export function createLinkSessions(deps: AdminDeps, parts: LinkSessionParts) {
  const links = deps.database.bind(approvalLinkStore);
  const { refuse, find, describe } = createLinkFinder(deps, parts);

  async function showLink(id: string): Promise<unknown> {
    const found = await links.findById(id);
    return found && show(ApprovalLink, found);
  }

  return {
    find,
    /** Begins the session of a link's token, once. */
    async open(token: string, client: SessionClient): Promise<OpenedLink> {
      const link = await links.findUnopened(hashSecret(token));
      if (!link) return { kind: "unknown" };
      if (link.link_used_at !== null) return { kind: "used" };
      const refusal = await refuse(link);
      if (refusal) return { kind: refusal };
      const { link_id, link_expires_at: expires_at } = link;
      const { use, token: cookie } = makeLinkUse(deps, token, client);
      const change = await parts.audit.begin({
        actor: { kind: "operator", name: link.name, via: "approval link" },
        ...{
          operation: "approvals link sign-in",
          target: link_id,
          before: await showLink(link_id),
        },
      });
      if (await links.open(use)) {
        await change.end(link_id, await showLink(link_id));
        return { kind: "ok", session: await describe(link), token: cookie, expires_at };
      }
      await change.fail(new AdminError("another request has opened the link"));
      return { kind: "used" };
    },
    /** Describes a session in force, also once its only approval is decided. */
    async read(token: string): Promise<Record<string, unknown> | undefined> {
      const link = await find(token);
      return link && describe(link);
    },
    /** Finds who may decide by a session's token; undefined once its only approval is decided. */
    async identify(token: string): Promise<LinkCaller | undefined> {
      const link = await find(token);
      if (!link || (await refuse(link)) !== null) return undefined;
      const { link_id, person, account_id, approval_id, name } = link;
      return { name, scope: { link_id, person, account_id, approval_id } };
    },
  };
}
