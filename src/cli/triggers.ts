// `wadi triggers`: schedules and signed requests that start runs, and their fires.
import { type Admin, Fire, ListedTrigger, OwnedTrigger } from "../admin/index.ts";
import { show } from "../platform/schema.ts";
import { administer } from "./admin.ts";
import {
  account,
  type Command,
  type CommandInput,
  limit as limitFlag,
  readLimit,
  readText,
} from "./command.ts";
import { drawRow, drawTable, type Output, type OutputRow } from "./output.ts";
import { quote, quoteWhole } from "./quotation.ts";

const COLUMNS = [
  ...["id", "account", "agent_id", "name", "kind", "status", "paused", "cron", "time_zone"],
  ...["next_fire_at", "last_fire_at", "created_at"],
];
const FIRE_COLUMNS = [
  ...["id", "created_at", "source", "outcome", "run_id", "scheduled_at", "missed_count"],
  ...["webhook_id", "error"],
];

export async function listTriggers(input: CommandInput, output: Output): Promise<number> {
  const account = readText(input, "account") ?? null;
  const found = await administer(input, ({ triggers }) => triggers.list(account));
  const rows = found.map((trigger) => show(ListedTrigger, trigger));
  // A caller's name may break a line: for people each trigger has one.
  const lines = rows.map((row) => ({ ...row, name: quote(row.name), paused: typeOf(row) }));
  output.print(rows, drawTable(lines, COLUMNS));
  return 0;
}

export async function showTrigger(input: CommandInput, output: Output): Promise<number> {
  const found = await administer(input, ({ triggers }) => triggers.show(input.args[0]!));
  return print(output, show(OwnedTrigger, found));
}

export async function listFires(input: CommandInput, output: Output): Promise<number> {
  const limit = readLimit(input);
  const work = ({ triggers }: Admin) => triggers.listFires(input.args[0]!, limit);
  const rows = (await administer(input, work)).map((fire) => show(Fire, fire));
  output.print(rows, drawTable(rows.map(drawFire), FIRE_COLUMNS));
  return 0;
}

const ALREADY = {
  pause: "it was paused already, and stays as it was",
  resume: "it was not paused",
};

export async function turnTrigger(
  input: CommandInput,
  output: Output,
  act: "pause" | "resume",
): Promise<number> {
  const work = ({ triggers }: Admin) => triggers[act](input.args[0]!);
  const { trigger, was_so } = await administer(input, work);
  if (was_so) output.say(ALREADY[act]);
  return print(output, show(OwnedTrigger, trigger));
}

interface Pause {
  type: string;
  code?: string | null;
  message: string;
  at: string;
}

function print(output: Output, row: OutputRow): number {
  const { name, input, paused_reason, ...rest } = row;
  const { id, account, agent_id, ...behind } = rest;
  const asks = input as { message: string } | null;
  output.print(
    row,
    drawRow({
      ...{ id, account, name: quoteWhole(name), agent_id, ...behind },
      paused_reason: paused_reason && explainPause(paused_reason as Pause),
      input: asks && quoteWhole(asks.message),
    }),
  );
  return 0;
}

const typeOf = ({ paused_reason }: OutputRow) => (paused_reason as Pause | null)?.type;

function explainPause({ type, code, message, at }: Pause): string {
  return `${type}${code ? ` (${code})` : ""} since ${at}: ${quoteWhole(message)}`;
}

/** A sender chose the id of its request, and an error may name what a caller wrote. */
function drawFire(row: OutputRow): OutputRow {
  const { webhook_id } = row;
  const error = row.error as { code: string; message: string } | null;
  return {
    ...row,
    webhook_id: webhook_id === null ? null : quoteWhole(webhook_id),
    error: error && `${error.code}: ${quote(error.message)}`,
  };
}

function createSwitchCommand(act: "pause" | "resume", help: string): Command {
  return {
    name: `triggers ${act}`,
    args: ["ID"],
    flags: {},
    help,
    example: `wadi triggers ${act} 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11`,
    run: (input, output) => turnTrigger(input, output, act),
  };
}

export const commands: readonly Command[] = [
  {
    name: "triggers list",
    args: [],
    flags: { account },
    help: "List triggers and their next fires",
    example: "wadi triggers list --account acme",
    run: listTriggers,
  },
  {
    name: "triggers show",
    args: ["ID"],
    flags: {},
    help: "Show a trigger",
    example: "wadi triggers show 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    run: showTrigger,
  },
  {
    name: "triggers fires",
    args: ["ID"],
    flags: { limit: limitFlag },
    help: "List a trigger's newest fires and their outcomes",
    example: "wadi triggers fires 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --limit 5",
    run: listFires,
  },
  createSwitchCommand("pause", "Pause a trigger"),
  createSwitchCommand("resume", "Resume a trigger with the key it had"),
];
