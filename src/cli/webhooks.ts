// `wadi webhooks`: endpoints, their deliveries, and sending these again.
import { DELIVERY_STATUSES, Delivery } from "../admin/index.ts";
import { readDay, readInstant } from "../platform/calendar.ts";
import { show } from "../platform/schema.ts";
import { administer } from "./admin.ts";
import {
  account,
  type Command,
  type CommandInput,
  limit,
  readLimit,
  readText,
  readWord,
  UsageError,
} from "./command.ts";
import { drawRow, drawTable, type Output, type OutputRow } from "./output.ts";
import { quote, quoteWhole } from "./quotation.ts";

const COLUMNS = [
  ...["id", "account", "url", "events", "status", "disabled_reason", "failing_since"],
  ...["last_success_at", "last_failure_at", "pending_deliveries", "created_at"],
];
const DELIVERY_COLUMNS = [
  ...["id", "created_at", "event_type", "event_id", "status", "attempt_count", "next_attempt_at"],
  ...["completed_at", "last_response_status", "last_error"],
];

export async function listEndpoints(input: CommandInput, output: Output): Promise<number> {
  const account = readText(input, "account") ?? null;
  const rows: OutputRow[] = await administer(input, ({ webhooks }) => webhooks.list(account));
  // A caller's text.
  const lines = rows.map((row) => ({ ...row, url: quoteWhole(row.url) }));
  output.print(rows, drawTable(lines, COLUMNS));
  return 0;
}

export async function listDeliveries(input: CommandInput, output: Output): Promise<number> {
  const request = { status: readWord(input, "status", DELIVERY_STATUSES), limit: readLimit(input) };
  const found = await administer(input, ({ webhooks }) =>
    webhooks.listDeliveries(input.args[0]!, request),
  );
  const rows = found.map((delivery) => show(Delivery, delivery));
  output.print(rows, drawTable(rows.map(quoteError), DELIVERY_COLUMNS));
  return 0;
}

export async function replayDelivery(input: CommandInput, output: Output): Promise<number> {
  const found = await administer(input, ({ webhooks }) => webhooks.replay(input.args[0]!));
  const delivery = show(Delivery, found);
  output.print(delivery, drawRow(quoteError(delivery)));
  return 0;
}

export async function recoverDeliveries(input: CommandInput, output: Output): Promise<number> {
  const since = readTime(input, "since");
  if (since === null) throw new UsageError("webhooks recover takes --since TIME");
  const request = { since, until: readTime(input, "until") };
  const queued = await administer(input, ({ webhooks }) =>
    webhooks.recover(input.args[0]!, request),
  );
  const row = { queued };
  output.print(row, drawRow(row));
  return 0;
}

/** Milliseconds since 1970. */
function readTime(input: CommandInput, name: string): number | null {
  const text = readText(input, name);
  if (text === undefined) return null;
  const time_ms = readDay(text) ?? readInstant(text);
  if (time_ms !== null) return time_ms;
  throw new UsageError(
    `--${name} takes a time such as 2027-01-05 or 2027-01-05T09:30:00Z, but is "${text}"`,
  );
}

/** What an endpoint answered may stand in it. */
function quoteError(row: OutputRow): OutputRow {
  const { last_error } = row;
  return { ...row, last_error: last_error === null ? null : quote(last_error) };
}

export const commands: readonly Command[] = [
  {
    name: "webhooks list",
    args: [],
    flags: { account },
    help: "List endpoints and their health",
    example: "wadi webhooks list --account acme",
    run: listEndpoints,
  },
  {
    name: "webhooks deliveries",
    args: ["ID"],
    flags: {
      status: { takes: "NAME", help: "status of the deliveries, such as failed" },
      limit,
    },
    help: "List an endpoint's newest deliveries",
    example: "wadi webhooks deliveries 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --status failed",
    run: listDeliveries,
  },
  {
    name: "webhooks replay",
    args: ["ID"],
    flags: {},
    help: "Send a delivery again with its webhook-id",
    example: "wadi webhooks replay 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    run: replayDelivery,
  },
  {
    name: "webhooks recover",
    args: ["ID"],
    flags: {
      since: { takes: "TIME", help: "time of the first one, such as 2027-01-05T09:30:00Z" },
      until: { takes: "TIME", help: "time of the last one (default now)" },
    },
    help: "Send the deliveries again that an endpoint lost",
    example: "wadi webhooks recover 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --since 2027-01-05",
    run: recoverDeliveries,
  },
];
