// The operation that makes a link to approvals.
import { Type } from "@sinclair/typebox";
import { ApprovalLink } from "../../access/index.ts";
import { FilledText, maybe, show } from "../../platform/schema.ts";
import type { Admin } from "../admin.ts";
import { defineOperation } from "../operation.ts";
import { idOf, input, maybeText } from "./fields.ts";

const PERSON_CHARACTERS_MAX = 60;

const NewApprovalLink = Type.Object({
  ...ApprovalLink.properties,
  token: Type.String({
    description: "Its secret, shown only now; the link is `URL/console/a#TOKEN`.",
  }),
  url: maybe(
    Type.String({ description: "The link by `operator.public_url`; null: that is not set." }),
  ),
});

interface ShownLink extends Record<string, unknown> {
  id: string;
  token: string;
  url: string | null;
}

export const approvalLinkOperations = {
  create: defineOperation({
    name: "approvals link",
    method: "POST",
    path: "/approvals/links",
    summary: "Create a link by which a person decides approvals.",
    input: input({
      id: Type.Optional(idOf("approval")),
      account: maybeText("Name of the account whose approvals it shows, in place of an id."),
      for: FilledText("Whom it is for, as decisions will name the person.", PERSON_CHARACTERS_MAX),
      lifetime_ms: Type.Optional(
        Type.Integer({
          minimum: 1,
          description:
            "Milliseconds until it ends, at most 30 days; one day without it. A link to one " +
            "approval ends with that at the latest.",
        }),
      ),
      as: maybeText("Operator who answers for it; through the API only the own one."),
    }),
    reply: NewApprovalLink,
    audit: {
      target: (_: unknown, reply?: ShownLink) => reply?.id,
      async read({ approvalLinks }: Admin, found: string) {
        const row = await approvalLinks.find(found);
        return row && show(ApprovalLink, row);
      },
    },
    async run({ approvalLinks }, asked, actor): Promise<ShownLink> {
      const { for: person, lifetime_ms: lifetimeMs, ...chosen } = asked;
      const created = await approvalLinks.create({ ...chosen, person, lifetimeMs }, actor);
      const { link, token, origin } = created;
      const url = origin && `${origin}/console/a#${token}`;
      return { ...show(ApprovalLink, link), id: link.id, token, url };
    },
  }),
};
