// `wadi webhooks`: endpoints and their deliveries, which can be sent again.
import { DELIVERY_STATUSES, Delivery } from "../admin/index.ts";
import { readDay, readInstant } from "../platform/calendar.ts";
import { show } from "../platform/schema.ts";
import { administer } from "./admin.ts";
import {
  account,
  type Command,
  type CommandInput,
  limit,
  readAccount,
  readLimit,
  readText,
  readWord,
  UsageError,
} from "./command.ts";
import { type OutputRow, printRow, printRows, printTable, quote, quoteWhole } from "./output.ts";

const COLUMNS = [
  ...["id", "account", "url", "events", "status", "disabled_reason", "failing_since"],
  ...["last_success_at", "last_failure_at", "pending_deliveries", "created_at"],
];
const DELIVERY_COLUMNS = [
  ...["id", "created_at", "event_type", "event_id", "status", "attempt_count", "next_attempt_at"],
  ...["completed_at", "last_response_status", "last_error"],
];

function readTime(input: CommandInput, name: string): number | null {
  const text = readText(input, name);
  if (text === undefined) return null;
  const timeMs = readDay(text) ?? readInstant(text);
  if (timeMs !== null) return timeMs;
  throw new UsageError(
    `--${name} takes a time such as 2027-01-05 or 2027-01-05T09:30:00Z, but is "${text}"`,
  );
}

/** The error may quote an endpoint's answer. */
function quoteError(row: OutputRow): OutputRow {
  const { last_error } = row;
  return { ...row, last_error: last_error === null ? null : quote(last_error) };
}

export const commands: readonly Command[] = [
  {
    name: "webhooks list",
    flags: { account },
    help: "List endpoints and their health",
    example: "wadi webhooks list --account acme",
    async run(input, output) {
      const rows: OutputRow[] = await administer(input, ({ webhooks }) =>
        webhooks.list(readAccount(input)),
      );
      const lines = rows.map((row) => ({ ...row, url: quoteWhole(row.url) }));
      return printTable(output, rows, COLUMNS, lines);
    },
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
    async run(input, output) {
      const status = readWord(input, "status", DELIVERY_STATUSES);
      const filter = { status, limit: readLimit(input) };
      const found = await administer(input, ({ webhooks }) =>
        webhooks.listDeliveries(input.args[0]!, filter),
      );
      return printRows(output, Delivery, found, DELIVERY_COLUMNS, quoteError);
    },
  },
  {
    name: "webhooks replay",
    args: ["ID"],
    help: "Send a delivery again with its webhook-id",
    example: "wadi webhooks replay 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const found = await administer(input, ({ webhooks }) => webhooks.replay(input.args[0]!));
      const delivery = show(Delivery, found);
      return printRow(output, delivery, quoteError(delivery));
    },
  },
  {
    name: "webhooks recover",
    args: ["ID"],
    flags: {
      since: { takes: "TIME", help: "time of the first delivery, such as 2027-01-05T09:30:00Z" },
      until: { takes: "TIME", help: "time of the last delivery (default now)" },
    },
    help: "Send the failed deliveries of an endpoint again",
    example: "wadi webhooks recover 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --since 2027-01-05",
    async run(input, output) {
      const since = readTime(input, "since");
      if (since === null) throw new UsageError("webhooks recover takes --since TIME");
      const range = { since, until: readTime(input, "until") };
      const queued = await administer(input, ({ webhooks }) =>
        webhooks.recover(input.args[0]!, range),
      );
      return printRow(output, { queued });
    },
  },
];
