// Operations on operators, and the audit log.
import { Type } from "@sinclair/typebox";
import { AuditEntry, Operator, ROLES } from "../../access/index.ts";
import { oneOf, show } from "../../platform/schema.ts";
import type { Admin } from "../admin.ts";
import { AdminError } from "../errors.ts";
import { defineOperation } from "../operation.ts";
import { readTimeAgo } from "../time.ts";
import { input, LIMIT, lifetime, limit, maybeText, NO_INPUT, text } from "./fields.ts";

const name = text("Name of the operator.");

const NewOperator = Type.Object({
  ...Operator.properties,
  token: Type.String({ description: "The token, which is shown only now." }),
});

interface ShownOperator extends Record<string, unknown> {
  id: string;
  token: string;
}

const audit = {
  target: (asked: { name: string }) => asked.name,
  async read({ operators }: Admin, found: string) {
    const row = await operators.find(found);
    return row && show(Operator, row);
  },
};

export const operatorOperations = {
  create: defineOperation({
    name: "operators create",
    method: "POST",
    path: "/operators",
    summary: "Create an operator; the reply shows the token once.",
    input: input({
      name,
      role: Type.Optional(oneOf(ROLES, "`operator` without it.")),
      lifetime_ms: lifetime,
    }),
    reply: NewOperator,
    audit,
    async run({ operators }, asked): Promise<ShownOperator> {
      const { role = "operator", lifetime_ms: lifetimeMs } = asked;
      const { operator, token } = await operators.create({ name: asked.name, role, lifetimeMs });
      return { ...show(Operator, operator), id: operator.id, token };
    },
  }),
  list: defineOperation({
    name: "operators list",
    method: "GET",
    path: "/operators",
    summary: "List operators without their tokens.",
    input: NO_INPUT,
    reply: Type.Array(Operator),
    run: async ({ operators }) => (await operators.list()).map((row) => show(Operator, row)),
  }),
  revoke: defineOperation({
    name: "operators revoke",
    method: "POST",
    path: "/operators/:name/revoke",
    summary: "Revoke an operator's token, effective at its next request.",
    input: input({ name }),
    reply: Operator,
    audit,
    run: async ({ operators }, asked) => show(Operator, await operators.revoke(asked.name)),
  }),
  listAudit: defineOperation({
    name: "audit list",
    method: "GET",
    path: "/audit",
    summary: "List the newest changes that operators made.",
    input: input({
      actor: maybeText("Name of an operator or of a user of the server's system."),
      operation: maybeText("Words of the command, such as `keys revoke`."),
      target: maybeText("Name of what was changed, or its id: whole, or 6 characters of one end."),
      since: maybeText("Earliest time, such as 2027-01-05, or a duration before now, such as 1h."),
      until: maybeText("Time that they were made before, in the same forms."),
      limit,
    }),
    reply: Type.Array(AuditEntry),
    async run({ audit: log, clock }, { since, until, limit: rowsMax = LIMIT, ...filter }) {
      const read = (typed: string | undefined) => {
        const time = typed === undefined ? undefined : readTimeAgo(typed, clock.now());
        if (time !== null) return time;
        throw new AdminError(`"${typed}" is no time, such as 2027-01-05 or 1h`);
      };
      const range = { since: read(since), until: read(until) };
      const found = await log.list({ ...filter, ...range, limit: rowsMax });
      return found.map((row) => show(AuditEntry, row));
    },
  }),
};
