// The verbs of `wadi triggers`: a list, one with all that is known of it, its fires, its switch.
import { Fire, ListedTrigger, type Operator, OwnedTrigger } from "../operator/index.ts";
import { show } from "../platform/shape.ts";
import { administer } from "./administration.ts";
import { drawRow, drawTable, type Output, type Row } from "./output.ts";
import { quote, quoteWhole } from "./quotation.ts";
import { type Given, readLimit, readText } from "./verb.ts";

const COLUMNS = [
  ...["id", "account", "agent_id", "name", "kind", "status", "paused", "cron", "time_zone"],
  ...["next_fire_at", "last_fire_at", "created_at"],
];
const FIRE_COLUMNS = [
  ...["id", "created_at", "source", "outcome", "run_id", "scheduled_at", "missed_count"],
  ...["webhook_id", "error"],
];

export async function listTriggers(given: Given, output: Output): Promise<number> {
  const account = readText(given, "account") ?? null;
  const found = await administer(given, ({ triggers }) => triggers.list(account));
  const rows = found.map((trigger) => show(ListedTrigger, trigger));
  // A caller's name may break a line: for people each trigger has one.
  const lines = rows.map((row) => ({ ...row, name: quote(row.name), paused: typeOf(row) }));
  output.print(rows, drawTable(lines, COLUMNS));
  return 0;
}

export async function showTrigger(given: Given, output: Output): Promise<number> {
  const found = await administer(given, ({ triggers }) => triggers.show(given.args[0]!));
  return print(output, show(OwnedTrigger, found));
}

export async function listFires(given: Given, output: Output): Promise<number> {
  const limit = readLimit(given);
  const work = ({ triggers }: Operator) => triggers.listFires(given.args[0]!, limit);
  const rows = (await administer(given, work)).map((fire) => show(Fire, fire));
  output.print(rows, drawTable(rows.map(drawFire), FIRE_COLUMNS));
  return 0;
}

const ALREADY = {
  pause: "it was paused already, and stays as it was",
  resume: "it was not paused",
};

export async function turnTrigger(
  given: Given,
  output: Output,
  act: "pause" | "resume",
): Promise<number> {
  const work = ({ triggers }: Operator) => triggers[act](given.args[0]!);
  const { trigger, was_so } = await administer(given, work);
  if (was_so) output.say(ALREADY[act]);
  return print(output, show(OwnedTrigger, trigger));
}

interface Pause {
  type: string;
  code?: string | null;
  message: string;
  at: string;
}

function print(output: Output, row: Row): number {
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

const typeOf = ({ paused_reason }: Row) => (paused_reason as Pause | null)?.type;

function explainPause({ type, code, message, at }: Pause): string {
  return `${type}${code ? ` (${code})` : ""} since ${at}: ${quoteWhole(message)}`;
}

/** A sender chose the id of its request, and an error may name what a caller wrote. */
function drawFire(row: Row): Row {
  const { webhook_id } = row;
  const error = row.error as { code: string; message: string } | null;
  return {
    ...row,
    webhook_id: webhook_id === null ? null : quoteWhole(webhook_id),
    error: error && `${error.code}: ${quote(error.message)}`,
  };
}
