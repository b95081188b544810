// `wadi operators` and `wadi audit`: who may use the operator API, and what was changed.
import { operatorOperations as operations, ROLES, sessionOperations } from "../admin/index.ts";
import { type Command, hasFlag, limit, readDuration, readLimit, readText } from "./command.ts";
import { call } from "./operations.ts";
import { type OutputRow, printOnce, printRow, printTable, quoteWhole } from "./output.ts";

const COLUMNS = ["name", "id", "role", "created_at", "expires_at", "revoked_at"];
const SESSION_COLUMNS = [
  ...["id", "operator", "for", "user_agent", "address"],
  ...["created_at", "last_seen_at", "expires_at"],
];
const AUDIT_COLUMNS = ["at", "actor", "actor_kind", "via", "operation", "target", "outcome"];

export const commands: readonly Command[] = [
  {
    name: "operators create",
    args: ["NAME"],
    flags: {
      approver: { help: "may only see and decide approvals" },
      expires: { takes: "90d", help: "lifetime, such as 12h (default unlimited)" },
    },
    help: "Create an operator and print its token once",
    example: "wadi operators create noura --approver --expires 90d",
    async run(input, output) {
      const [name] = input.args as [string];
      const role = ROLES[hasFlag(input, "approver") ? 1 : 0];
      const lifetime_ms = readDuration(input, "expires");
      const operator = await call(input, operations.create, { name, role, lifetime_ms });
      output.say(`operator ${name} created; its token is shown only now:`);
      const rescue = `the token is lost: end it with \`wadi operators revoke ${name}\``;
      printOnce(output, operator, `${operator.token}\n`, rescue);
      return 0;
    },
  },
  {
    name: "operators list",
    help: "List operators without their tokens",
    example: "wadi operators list",
    async run(input, output) {
      return printTable(output, await call(input, operations.list, {}), COLUMNS);
    },
  },
  {
    name: "operators revoke",
    args: ["NAME"],
    help: "Revoke an operator's token, effective at its next request",
    example: "wadi operators revoke noura",
    async run(input, output) {
      const [name] = input.args as [string];
      return printRow(output, await call(input, operations.revoke, { name }));
    },
  },
  {
    name: "operators sessions",
    help: "List sessions of the console, and links to approvals",
    example: "wadi operators sessions",
    async run(input, output) {
      const found = await call(input, sessionOperations.list, {});
      // A browser may call itself anything.
      return printTable(output, found, SESSION_COLUMNS, found.map(drawSession));
    },
  },
  {
    name: "operators end",
    args: ["ID"],
    help: "End a session or a link to approvals, effective at its next request",
    example: "wadi operators end 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const [id] = input.args as [string];
      const row = await call(input, sessionOperations.end, { id });
      return printRow(output, row, drawSession(row));
    },
  },
  {
    name: "audit list",
    flags: {
      actor: { takes: "NAME", help: "operator, or user of the server's system" },
      operation: { takes: "WORDS", help: 'words of the command, such as "keys revoke"' },
      target: { takes: "ID", help: "id or name of what was changed" },
      since: { takes: "TIME", help: "earliest time, such as 2027-01-05 or 1h" },
      until: { takes: "TIME", help: "time that they were made before" },
      limit,
    },
    help: "List the newest changes that operators made",
    example: "wadi audit list --since 24h --actor noura",
    async run(input, output) {
      const found = await call(input, operations.listAudit, {
        actor: readText(input, "actor"),
        operation: readText(input, "operation"),
        target: readText(input, "target"),
        since: readText(input, "since"),
        until: readText(input, "until"),
        limit: readLimit(input),
      });
      const lines = found.map((row) => ({
        ...row,
        actor: quoteWhole(row.actor),
        target: row.target === null ? null : quoteWhole(row.target),
      }));
      return printTable(output, found, AUDIT_COLUMNS, lines);
    },
  },
];

function drawSession({ person, address, is_opened, ...row }: OutputRow): OutputRow {
  return {
    ...row,
    for: person === null ? null : quoteWhole(person),
    user_agent: row.user_agent === null ? null : quoteWhole(row.user_agent),
    address: is_opened === true ? address : "not opened",
  };
}
