// The verbs of `wadi webhooks`: endpoints, what is sent to them, and what is sent once more.
import { DELIVERY_STATUSES, Delivery } from "../operator/index.ts";
import { readDay, readInstant } from "../platform/calendar.ts";
import { show } from "../platform/shape.ts";
import { administer } from "./administration.ts";
import { drawRow, drawTable, type Output, type Row } from "./output.ts";
import { quote, quoteWhole } from "./quotation.ts";
import { type Given, readLimit, readText, readWord, UsageProblem } from "./verb.ts";

const COLUMNS = [
  ...["id", "account", "url", "events", "status", "disabled_reason", "failing_since"],
  ...["last_success_at", "last_failure_at", "pending_deliveries", "created_at"],
];
const DELIVERY_COLUMNS = [
  ...["id", "created_at", "event_type", "event_id", "status", "attempt_count", "next_attempt_at"],
  ...["completed_at", "last_response_status", "last_error"],
];

export async function listEndpoints(given: Given, output: Output): Promise<number> {
  const account = readText(given, "account") ?? null;
  const rows: Row[] = await administer(given, ({ webhooks }) => webhooks.list(account));
  // A caller's text.
  const lines = rows.map((row) => ({ ...row, url: quoteWhole(row.url) }));
  output.print(rows, drawTable(lines, COLUMNS));
  return 0;
}

export async function listDeliveries(given: Given, output: Output): Promise<number> {
  const wish = { status: readWord(given, "status", DELIVERY_STATUSES), limit: readLimit(given) };
  const found = await administer(given, ({ webhooks }) =>
    webhooks.listDeliveries(given.args[0]!, wish),
  );
  const rows = found.map((delivery) => show(Delivery, delivery));
  output.print(rows, drawTable(rows.map(quoteError), DELIVERY_COLUMNS));
  return 0;
}

export async function replayDelivery(given: Given, output: Output): Promise<number> {
  const found = await administer(given, ({ webhooks }) => webhooks.replay(given.args[0]!));
  const delivery = show(Delivery, found);
  output.print(delivery, drawRow(quoteError(delivery)));
  return 0;
}

export async function recoverDeliveries(given: Given, output: Output): Promise<number> {
  const since = readTime(given, "since");
  if (since === null) throw new UsageProblem("webhooks recover takes --since TIME");
  const wish = { since, until: readTime(given, "until") };
  const queued = await administer(given, ({ webhooks }) => webhooks.recover(given.args[0]!, wish));
  const row = { queued };
  output.print(row, drawRow(row));
  return 0;
}

/** Milliseconds since 1970; null: the flag is not there. */
function readTime(given: Given, name: string): number | null {
  const text = readText(given, name);
  if (text === undefined) return null;
  const time_ms = readDay(text) ?? readInstant(text);
  if (time_ms !== null) return time_ms;
  throw new UsageProblem(
    `--${name} takes a time such as 2027-01-05 or 2027-01-05T09:30:00Z, but is "${text}"`,
  );
}

/** What an endpoint answered may stand in it. */
function quoteError(row: Row): Row {
  const { last_error } = row;
  return { ...row, last_error: last_error === null ? null : quote(last_error) };
}
