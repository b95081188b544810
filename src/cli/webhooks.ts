// `wadi webhooks`: endpoints and their deliveries, which can be sent again.
import {
  DELIVERY_STATUSES,
  webhookOperations as operations,
  type WebhookEventType,
} from "../admin/index.ts";
import { readDay, readInstant } from "../platform/calendar.ts";
import {
  account,
  type Command,
  type CommandInput,
  hasFlag,
  limit,
  readLimit,
  readText,
  readWord,
  UsageError,
} from "./command.ts";
import { call } from "./operations.ts";
import {
  drawRow,
  layOutTable,
  type OutputRow,
  printOnce,
  printRow,
  printTable,
  quote,
  quoteWhole,
} from "./output.ts";

const COLUMNS = [
  ...["id", "account", "url", "events", "status", "disabled_reason", "failing_since"],
  ...["last_success_at", "last_failure_at", "pending_deliveries", "created_at"],
];
const ATTEMPT_COLUMNS = [
  ...["number", "kind", "started_at", "duration_ms", "response_status", "signatures", "url"],
  ...["error", "response_body"],
];
const DELIVERY_COLUMNS = [
  ...["id", "created_at", "event_type", "event_id", "status", "attempt_count", "next_attempt_at"],
  ...["completed_at", "last_response_status", "last_error"],
];

function readTime(input: CommandInput, name: string): string | undefined {
  const text = readText(input, name);
  if (text === undefined || (readDay(text) ?? readInstant(text)) !== null) return text;
  throw new UsageError(
    `--${name} takes a time such as 2027-01-05 or 2027-01-05T09:30:00Z, but is "${text}"`,
  );
}

function quoteOrNull(value: unknown): string | null {
  return value === null ? null : quote(value);
}

function drawEndpoint(row: OutputRow): OutputRow {
  const { url, description, last_answer_error } = row;
  return {
    ...row,
    url: quoteWhole(url),
    description: description === null ? null : quoteWhole(description),
    last_answer_error: quoteOrNull(last_answer_error),
  };
}

/** The error may quote an endpoint's answer. */
function quoteError(row: OutputRow): OutputRow {
  const { last_error } = row;
  return { ...row, last_error: last_error === null ? null : quote(last_error) };
}

export const commands: readonly Command[] = [
  {
    name: "webhooks create",
    flags: {
      account,
      url: { takes: "URL", help: "where the endpoint receives events" },
      events: { takes: "NAMES", help: "types of events, such as run.completed,run.failed" },
      description: { takes: "TEXT", help: "for people" },
    },
    help: "Create an endpoint and print its secret once",
    example: "wadi webhooks create --account acme --url https://a.example/in --events run.failed",
    async run(input, output) {
      const names = ["account", "url", "events"].map((name) => readText(input, name));
      const [owner, url, events] = names;
      if (!owner || !url || !events) {
        throw new UsageError("webhooks create takes --account NAME, --url URL and --events NAMES");
      }
      const made = await call(input, operations.create, {
        ...{ account: owner, url, events: events.split(",") as WebhookEventType[] },
        description: readText(input, "description"),
      });
      const rescue = `the secret of endpoint ${made.id} is lost: its owner can rotate it`;
      printOnce(output, made, `${made.secret}\n`, rescue);
      return 0;
    },
  },
  {
    name: "webhooks list",
    flags: { account },
    help: "List endpoints and their health",
    example: "wadi webhooks list --account acme",
    async run(input, output) {
      const rows = await call(input, operations.list, { account: readText(input, "account") });
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
      const found = await call(input, operations.listDeliveries, {
        id: input.args[0]!,
        status: readWord(input, "status", DELIVERY_STATUSES),
        limit: readLimit(input),
      });
      return printTable(output, found, DELIVERY_COLUMNS, found.map(quoteError));
    },
  },
  {
    name: "webhooks show",
    args: ["ID"],
    help: "Show an endpoint and its health",
    example: "wadi webhooks show 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const endpoint = await call(input, operations.show, { id: input.args[0]! });
      return printRow(output, endpoint, drawEndpoint(endpoint));
    },
  },
  {
    name: "webhooks attempts",
    args: ["ID"],
    help: "Show the attempts at a delivery: sent and answered",
    example: "wadi webhooks attempts 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --json",
    async run(input, output) {
      const found = await call(input, operations.listAttempts, { id: input.args[0]! });
      const { attempts, body: _, ...delivery } = found as typeof found & OutputRow;
      const lines = attempts.map((row) => ({
        ...row,
        url: quoteOrNull(row.url),
        error: quoteOrNull(row.error),
        response_body: quoteOrNull(row.response_body),
      }));
      const head = drawRow(quoteError(delivery));
      output.print(found, `${head}\n${layOutTable(output, lines, ATTEMPT_COLUMNS)}`);
      return 0;
    },
  },
  {
    name: "webhooks replay",
    args: ["ID"],
    help: "Send a delivery again with its webhook-id",
    example: "wadi webhooks replay 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    isUnsuggested: true,
    async run(input, output) {
      const delivery = await call(input, operations.replay, { id: input.args[0]! });
      return printRow(output, delivery, quoteError(delivery));
    },
  },
  {
    name: "webhooks recover",
    args: ["ID"],
    flags: {
      since: { takes: "TIME", help: "time of the first delivery, such as 2027-01-05T09:30:00Z" },
      until: { takes: "TIME", help: "time of the last delivery (default now)" },
      count: { help: "count them, and send nothing" },
    },
    help: "Send the failed deliveries of an endpoint again",
    example: "wadi webhooks recover 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --since 2027-01-05",
    isUnsuggested: true,
    async run(input, output) {
      const since = readTime(input, "since");
      if (since === undefined) throw new UsageError("webhooks recover takes --since TIME");
      const request = { id: input.args[0]!, since, until: readTime(input, "until") };
      if (hasFlag(input, "count")) {
        return printRow(output, await call(input, operations.countLost, request));
      }
      return printRow(output, await call(input, operations.recover, request));
    },
  },
  {
    name: "webhooks test",
    args: ["ID"],
    help: "Send a test event to an endpoint, once",
    example: "wadi webhooks test 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const delivery = await call(input, operations.test, { id: input.args[0]! });
      return printRow(output, delivery, quoteError(delivery));
    },
  },
  {
    name: "webhooks enable",
    args: ["ID"],
    help: "Enable a disabled endpoint",
    example: "wadi webhooks enable 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    isUnsuggested: true,
    async run(input, output) {
      const enabled = await call(input, operations.enable, { id: input.args[0]! });
      const { is_changed, ...endpoint } = enabled;
      if (!is_changed) output.say("it was enabled already");
      return printRow(output, endpoint, drawEndpoint(endpoint));
    },
  },
];
