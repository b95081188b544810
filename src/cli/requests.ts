// `wadi requests`: a list of requests, the explanation of one, and requests as they end.
import { requestOperations as operations, type PerformOperation } from "../admin/index.ts";
import { type Clock, createSystemClock, wait } from "../platform/clock.ts";
import { NO_ID } from "../platform/ids.ts";
import {
  account,
  type Command,
  type CommandInput,
  limit,
  readDuration,
  readLimit,
  readText,
} from "./command.ts";
import { call, operate } from "./operations.ts";
import { drawRow, escapeHidden, layOutTable, type OutputRow } from "./output.ts";

const COLUMNS = [
  ...["at", "request_id", "account", "key", "model", "status", "end", "replica", "waited_ms"],
  ...["first_token_ms", "duration_ms", "prompt_tokens", "completion_tokens", "cost"],
];

const POLL_INTERVAL_MS = 1_000;

const search: NonNullable<Command["flags"]> = {
  account,
  key: { takes: "ID", help: "key that they were sent with" },
  model: { takes: "ID", help: "model asked for, or meant" },
  status: { takes: "STATUS", help: "status, such as 429 or 5xx" },
  code: { takes: "CODE", help: "error code, such as rate_limit_exceeded" },
  run: { takes: "ID", help: "run whose rounds and calls they were" },
  since: { takes: "TIME", help: "earliest arrival, such as 2027-01-05 or 1h" },
  slower: { takes: "2s", help: "time that they took longer than" },
};

function readSearch(input: CommandInput) {
  return {
    account: readText(input, "account"),
    key: readText(input, "key"),
    model: readText(input, "model"),
    status: readText(input, "status"),
    code: readText(input, "code"),
    run: readText(input, "run"),
    since: readText(input, "since"),
    slower_than_ms: readDuration(input, "slower"),
  };
}

type SearchFields = ReturnType<typeof readSearch>;

/** Lists up to `limit` requests; a page of the API may have fewer than there are. */
export async function listRequests(
  perform: PerformOperation,
  asked: SearchFields,
  rowsMax: number,
) {
  const rows: OutputRow[] = [];
  let next: string | null = null;
  do {
    const page: { rows: OutputRow[]; next: string | null } = await perform(operations.list, {
      ...asked,
      limit: rowsMax - rows.length,
      before: next ?? undefined,
    });
    rows.push(...page.rows);
    next = page.next;
  } while (next !== null && rows.length < rowsMax);
  return { rows, next };
}

/** Passes on each request that ends from now on; never returns. */
export async function followRequests(
  perform: PerformOperation,
  clock: Clock,
  asked: SearchFields,
  onRow: (row: OutputRow) => void,
): Promise<never> {
  const { rows } = await perform(operations.list, { limit: 1 });
  for (let id = String(rows[0]?.id ?? NO_ID); ; ) {
    const later = await perform(operations.listLater, { ...asked, id });
    for (const row of later.rows) onRow(row);
    // Full ranges follow each other without a pause.
    if (later.last === id) await wait(clock, POLL_INTERVAL_MS);
    id = later.last;
  }
}

function drawLine(row: OutputRow): OutputRow {
  const { code, finish_reason, model_asked, model } = row;
  return {
    ...row,
    model: model ?? (model_asked === null ? null : escapeHidden(`${model_asked}?`)),
    end: code ?? (finish_reason === null ? null : escapeHidden(String(finish_reason))),
  };
}

/** `2027-01-05T08:00:00.000Z  429 rate_limit_exceeded  1 ms  acme  ci  stub-1  request` */
function drawFollowed(row: OutputRow): string {
  const { at, status, end, duration_ms, account: owner, key, model, request_id } = drawLine(row);
  const cells = [at, `${status} ${end ?? ""}`.trimEnd(), `${duration_ms} ms`];
  return `${[...cells, owner ?? "-", key ?? "-", model ?? "-", request_id].join("  ")}\n`;
}

function drawExplained({ explanation, request_id, id, at }: OutputRow): string {
  const lines = (explanation as string[]).map((sentence) => `  ${escapeHidden(sentence)}\n`);
  return `${drawRow({ request_id, id, at })}${lines.join("")}`;
}

export const commands: readonly Command[] = [
  {
    name: "requests list",
    flags: { ...search, limit },
    help: "List the newest requests that have ended",
    example: "wadi requests list --account acme --status 5xx --since 1h",
    async run(input, output) {
      const found = await operate(input, (perform) =>
        listRequests(perform, readSearch(input), readLimit(input)),
      );
      output.print(found, layOutTable(output, found.rows.map(drawLine), COLUMNS));
      return 0;
    },
  },
  {
    name: "requests show",
    args: ["ID"],
    help: "Explain a request: what decided it, in order",
    example: "wadi requests show 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const [id] = input.args as [string];
      const found = await call(input, operations.explain, { id });
      if (found.length > 1) {
        const isWhole = found.every((row) => Object.values<unknown>(row).includes(id));
        const ids = isWhole ? "this id" : "an id that begins or ends so";
        output.say(`${found.length} requests have ${ids}; the newest is first`);
      }
      output.print(found, found.map(drawExplained).join("\n"));
      return 0;
    },
  },
  {
    name: "requests follow",
    flags: { ...search, json: { help: "one JSON document per line, for each request" } },
    help: "Print requests as they end, until Ctrl-C",
    example: "wadi requests follow --status 5xx",
    async run(input, output) {
      return operate(input, (perform) =>
        followRequests(perform, createSystemClock(), readSearch(input), (row) =>
          output.print(row, drawFollowed(row)),
        ),
      );
    },
  },
];
