// Operations on sessions of the console, and the links that begin them.
import { Type } from "@sinclair/typebox";
import { Operator } from "../../access/index.ts";
import { show } from "../../platform/schema.ts";
import type { Admin } from "../admin.ts";
import { defineOperation } from "../operation.ts";
import { ListedSession } from "../session-list.ts";
import { idOf, input, maybeText, NO_INPUT } from "./fields.ts";

const ConsoleLink = Type.Object({
  operator: Type.String({ description: "Name of the operator that it signs in." }),
  role: Operator.properties.role,
  token: Type.String({
    description: "Its secret, shown only now; the link is `URL/console/#TOKEN`.",
  }),
  expires_at: Type.String({ format: "date-time", description: "End of the time to use it." }),
});

export const sessionOperations = {
  list: defineOperation({
    name: "operators sessions",
    method: "GET",
    path: "/sessions",
    summary: "List the sessions of the console and the links to approvals that are in force.",
    input: NO_INPUT,
    reply: Type.Array(ListedSession),
    run: async ({ sessionList }) =>
      (await sessionList.list()).map((row) => show(ListedSession, row)),
  }),
  end: defineOperation({
    name: "operators end",
    method: "DELETE",
    path: "/sessions/:id",
    summary: "End a session or a link to approvals, effective at its next request.",
    input: input({ id: idOf("session") }),
    reply: ListedSession,
    audit: {
      target: (asked: { id: string }) => asked.id,
      async read({ sessionList }: Admin, found: string) {
        const row = await sessionList.find(found);
        return row && show(ListedSession, row);
      },
    },
    run: async ({ sessionList }, asked) => show(ListedSession, await sessionList.end(asked.id)),
  }),
  createLink: defineOperation({
    name: "console",
    method: "POST",
    path: "/console/links",
    summary: "Create a link that signs in to the console once, within 30 minutes.",
    input: input({
      as: maybeText("Name of the operator; through the API only the own one, also without it."),
    }),
    reply: ConsoleLink,
    audit: {
      target: (asked: { as?: string }, reply?: { operator: string }) => reply?.operator ?? asked.as,
      async read({ operators }: Admin, found: string) {
        const row = await operators.find(found);
        return row && show(Operator, row);
      },
    },
    async run({ sessions }, asked, actor) {
      const { operator, token, expires_at } = await sessions.createLink(asked.as, actor);
      const { name, role } = operator;
      return { operator: name, role, token, expires_at: new Date(expires_at).toISOString() };
    },
  }),
};
