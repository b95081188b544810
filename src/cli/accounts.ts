// `wadi accounts`: accounts, their grants and holds.
import { accountOperations as operations, type PerformOperation } from "../admin/index.ts";
import { type Command, hasFlag, holdReason, readText } from "./command.ts";
import { limitFlags, printLimits, readLimitChange } from "./limits.ts";
import { call, operate } from "./operations.ts";
import { layOutTable, type Output, printRow, printTable } from "./output.ts";

const COLUMNS = ["name", "id", "created_at", "stored_bytes", "held_since", "hold_reason"];
const LIMIT_COLUMNS = ["account", "name", "maximum", "used", "reserved", "resets_at"];

type AccountContents = Awaited<ReturnType<typeof operations.countContents.run>>;

/** Repeats the request until nothing is left; each one deletes for some seconds. */
async function deleteAccount(
  perform: PerformOperation,
  { account, contents }: AccountContents,
  output: Output,
): Promise<number> {
  const listed = contents
    .filter(({ rows }) => rows > 0)
    .map(({ what, rows }) => `${what}: ${rows}`);
  output.say(`deleting ${account} (${listed.join(", ") || "nothing is left of it"})`);
  const sums = new Map<string, number>();
  for (let from: string | null | undefined; from !== null; ) {
    const asked = { name: account, ...(from !== undefined && { from }) };
    const { next, deleted } = await perform(operations.delete, asked);
    for (const { what, rows } of deleted) sums.set(what, (sums.get(what) ?? 0) + rows);
    from = next;
  }
  const deleted = [...sums].map(([what, rows]) => ({ what, rows }));
  const kept =
    "its versions, steps and messages are among the rows; audit rows stay; " +
    "rows of requests under way now are deleted within hours";
  output.say(`${account} is deleted: ${kept}`);
  output.print({ account, deleted }, layOutTable(output, deleted, ["what", "rows"]));
  return 0;
}

export const commands: readonly Command[] = [
  {
    name: "accounts create",
    args: ["NAME"],
    help: "Create an account, which owns keys and agents",
    example: "wadi accounts create acme",
    async run(input, output) {
      const [name] = input.args as [string];
      // The only command that may create a database.
      const account = await call(input, operations.create, { name }, { begins: true });
      return printRow(output, account);
    },
  },
  {
    name: "accounts list",
    help: "List accounts with their holds and stored bytes",
    example: "wadi accounts list",
    async run(input, output) {
      return printTable(output, await call(input, operations.list, {}), COLUMNS);
    },
  },
  {
    name: "accounts grant",
    args: ["NAME", "MODEL"],
    help: "Let an account call an external or private model",
    example: "wadi accounts grant acme gpt-4o",
    async run(input, output) {
      const [name, model] = input.args as [string, string];
      const { note, ...grant } = await call(input, operations.grant, { name, model });
      if (note) output.say(`the grant opens nothing: ${note}`);
      return printRow(output, grant);
    },
  },
  {
    name: "accounts ungrant",
    args: ["NAME", "MODEL"],
    help: "Revoke a grant",
    example: "wadi accounts ungrant acme gpt-4o",
    async run(input, output) {
      const [name, model] = input.args as [string, string];
      const { note: _, ...grant } = await call(input, operations.ungrant, { name, model });
      return printRow(output, grant);
    },
  },
  {
    name: "accounts limit",
    args: ["NAME"],
    flags: limitFlags,
    help: "Show the limits of an account and their use, or change some",
    example: "wadi accounts limit acme --cost-month 500 --tokens-day 2M",
    async run(input, output) {
      const [name] = input.args as [string];
      const change = readLimitChange(input);
      if (!change) return printLimits(output, await call(input, operations.readLimits, { name }));
      return printLimits(output, await call(input, operations.limit, { name, ...change }));
    },
  },
  {
    name: "accounts limits",
    help: "Show the limits of all accounts and their use",
    example: "wadi accounts limits",
    async run(input, output) {
      return printTable(output, await call(input, operations.listLimits, {}), LIMIT_COLUMNS);
    },
  },
  {
    name: "accounts hold",
    args: ["NAME"],
    flags: { reason: holdReason },
    help: "Keep new runs of an account's agents from starting",
    example: 'wadi accounts hold acme --reason "Invoice 12 is unpaid"',
    async run(input, output) {
      const [name] = input.args as [string];
      const reason = readText(input, "reason");
      return printRow(output, await call(input, operations.hold, { name, reason }));
    },
  },
  {
    name: "accounts release",
    args: ["NAME"],
    help: "End a hold and start the runs that wait for it",
    example: "wadi accounts release acme",
    isUnsuggested: true,
    async run(input, output) {
      const [name] = input.args as [string];
      const { was_held, ...released } = await call(input, operations.release, { name });
      if (!was_held) output.say("it was not held");
      return printRow(output, released);
    },
  },
  {
    name: "accounts delete",
    args: ["NAME"],
    flags: { yes: { help: "delete it; without this only what it has is counted" } },
    help: "Delete an account and everything of it, its usage too",
    example: "wadi accounts delete acme --yes",
    isUnsuggested: true,
    async run(input, output) {
      const [name] = input.args as [string];
      return operate(input, async (perform) => {
        const found = await perform(operations.countContents, { name });
        if (hasFlag(input, "yes")) return deleteAccount(perform, found, output);
        output.print(found, layOutTable(output, found.contents, ["what", "rows"]));
        output.say(`nothing was deleted: \`wadi accounts delete ${name} --yes\` deletes all this`);
        return 1;
      });
    },
  },
];
