// `wadi triggers`: schedules and signed requests that start runs, and their fires.
import type { Static } from "@sinclair/typebox";
import { type OwnedTrigger, triggerOperations as operations } from "../admin/index.ts";
import { account, type Command, limit, readDuration, readLimit, readText } from "./command.ts";
import { call } from "./operations.ts";
import {
  type Output,
  type OutputRow,
  printOnce,
  printRow,
  printTable,
  quote,
  quoteWhole,
} from "./output.ts";

const COLUMNS = [
  ...["id", "account", "agent_id", "name", "kind", "status", "paused", "cron", "time_zone"],
  ...["next_fire_at", "last_fire_at", "created_at"],
];
const FIRE_COLUMNS = [
  ...["id", "created_at", "source", "outcome", "run_id", "scheduled_at", "missed_count"],
  ...["webhook_id", "error"],
];

type ShownReason = NonNullable<Static<typeof OwnedTrigger>["paused_reason"]>;

function printTrigger(output: Output, row: OutputRow): number {
  const { id, account, name, agent_id, input, paused_reason, ...rest } = row;
  const reason = paused_reason as ShownReason | null;
  return printRow(output, row, {
    id,
    account,
    name: quoteWhole(name),
    agent_id,
    ...rest,
    paused_reason: reason && explainPause(reason),
    input: input && quoteWhole((input as { message: string }).message),
  });
}

function explainPause({ type, code, message, at }: ShownReason): string {
  return `${type}${code ? ` (${code})` : ""} since ${at}: ${quoteWhole(message)}`;
}

function drawFire(row: OutputRow): OutputRow {
  const { webhook_id } = row;
  const error = row.error as { code: string; message: string } | null;
  return {
    ...row,
    webhook_id: webhook_id === null ? null : quoteWhole(webhook_id),
    error: error && `${error.code}: ${quote(error.message)}`,
  };
}

function createStatusCommand(action: "pause" | "resume", help: string, note: string): Command {
  return {
    name: `triggers ${action}`,
    args: ["ID"],
    help,
    ...(action === "resume" && { isUnsuggested: true }),
    example: `wadi triggers ${action} 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11`,
    async run(input, output) {
      const [id] = input.args as [string];
      const { is_changed, ...trigger } = await call(input, operations[action], { id });
      if (!is_changed) output.say(note);
      return printTrigger(output, trigger);
    },
  };
}

export const commands: readonly Command[] = [
  {
    name: "triggers list",
    flags: { account },
    help: "List triggers and their next fires",
    example: "wadi triggers list --account acme",
    async run(input, output) {
      const found = await call(input, operations.list, { account: readText(input, "account") });
      const lines = found.map((row) => {
        const reason = row.paused_reason as ShownReason | null;
        return { ...row, name: quote(row.name), paused: reason?.type };
      });
      return printTable(output, found, COLUMNS, lines);
    },
  },
  {
    name: "triggers show",
    args: ["ID"],
    help: "Show a trigger",
    example: "wadi triggers show 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      return printTrigger(output, await call(input, operations.show, { id: input.args[0]! }));
    },
  },
  {
    name: "triggers fires",
    args: ["ID"],
    flags: { limit },
    help: "List a trigger's newest fires and their outcomes",
    example: "wadi triggers fires 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --limit 5",
    async run(input, output) {
      const request = { id: input.args[0]!, limit: readLimit(input) };
      const found = await call(input, operations.listFires, request);
      return printTable(output, found, FIRE_COLUMNS, found.map(drawFire));
    },
  },
  {
    name: "triggers fire",
    args: ["ID"],
    help: "Fire a trigger now",
    example: "wadi triggers fire 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    isUnsuggested: true,
    async run(input, output) {
      const fire = await call(input, operations.fire, { id: input.args[0]! });
      printRow(output, fire, drawFire(fire));
      return fire.outcome === "started" || fire.outcome === "skipped" ? 0 : 1;
    },
  },
  {
    name: "triggers rotate",
    args: ["ID"],
    flags: {
      overlap: { takes: "24h", help: "time the old secret keeps working (default 24h)" },
    },
    help: "Give a trigger a new secret and print it once",
    example: "wadi triggers rotate 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --overlap 1h",
    async run(input, output) {
      const overlapMs = readDuration(input, "overlap");
      const overlap_seconds = overlapMs === undefined ? undefined : Math.ceil(overlapMs / 1_000);
      const request = { id: input.args[0]!, overlap_seconds };
      const trigger = await call(input, operations.rotate, request);
      const { previous_secret_expires_at: previous } = trigger;
      const old = previous ? `the old one works until ${previous}` : "the old one is refused";
      output.say(`the trigger has a new secret, and ${old}; it is shown only now:`);
      const rescue = "the secret is lost: `wadi triggers rotate` gives the trigger another";
      printOnce(output, trigger, `${trigger.secret}\n`, rescue);
      return 0;
    },
  },
  createStatusCommand("pause", "Pause a trigger", "it was paused already, and stays as it was"),
  createStatusCommand("resume", "Resume a trigger and keep its key", "it was not paused"),
];
