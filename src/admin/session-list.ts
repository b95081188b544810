// Sessions as they are listed and ended: of operators in the console, and of links to approvals.
import { type Static, Type } from "@sinclair/typebox";
import { type ApprovalLink, OperatorSession } from "../access/index.ts";
import { maybe, Row } from "../platform/schema.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { ApprovalLinkAdmin } from "./approval-links.ts";
import { requireById } from "./errors.ts";
import type { SessionAdmin } from "./sessions.ts";

export const ListedSession = Row(OperatorSession, {
  person: maybe(
    Type.String({ description: "Whom a link to approvals is for; null: the operator in person." }),
  ),
  account: maybe(Type.String({ description: "Account whose approvals the link shows." })),
  approval_id: maybe(
    Type.String({ description: "The only approval of the link; null: all of the account." }),
  ),
  is_opened: Type.Boolean({
    description: "False: a link to approvals that nobody opened yet; its address is empty.",
  }),
});
type ListedSession = Static<typeof ListedSession>;

interface SessionListParts {
  sessions: SessionAdmin;
  approvalLinks: ApprovalLinkAdmin;
  directory: AccountDirectory;
}

export function createSessionList({ sessions, approvalLinks, directory }: SessionListParts) {
  const describeLink = (
    { used_at, account_id, ...link }: ApprovalLink,
    names: ReadonlyMap<string, string>,
  ): ListedSession => {
    return { ...link, account: names.get(account_id) ?? null, is_opened: used_at !== null };
  };
  const describe = (session: OperatorSession): ListedSession => {
    return { ...session, person: null, account: null, approval_id: null, is_opened: true };
  };
  const describeAny = async (session: OperatorSession | undefined, link?: ApprovalLink) => {
    if (session) return describe(session);
    return link && describeLink(link, await directory.names());
  };
  return {
    /** Lists what is in force, the last seen first. */
    async list(): Promise<ListedSession[]> {
      const names = await directory.names();
      const links = await approvalLinks.list();
      const all = [
        ...(await sessions.list()).map(describe),
        ...links.map((link) => describeLink(link, names)),
      ];
      return all.toSorted((a, b) => b.last_seen_at - a.last_seen_at);
    },
    find: async (id: string) => describeAny(await sessions.find(id), await approvalLinks.find(id)),
    /** Takes effect at the next request. */
    end: (typed: string): Promise<ListedSession> =>
      requireById("session", typed, async (id) =>
        describeAny(await sessions.end(id), await approvalLinks.end(id)),
      ),
  };
}
