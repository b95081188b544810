// Registers MCP servers, reads their tools, and shows what has changed of them.
import type { Bound } from "../../../database/index.ts";
import type { GuardedEgress } from "../../../net/index.ts";
import { abortAfter, type Clock } from "../../../platform/clock.ts";
import { ApiError, apiError } from "../../../platform/errors.ts";
import type { Ids } from "../../../platform/ids.ts";
import { shorten, writeOneLine } from "../../../platform/text.ts";
import type { Settings } from "../../../settings/index.ts";
import type { Catalog } from "../catalog.ts";
import type { OpenCredentials } from "../connections/connections.ts";
import { scrub } from "../http/scrub.ts";
import type { CheckSchema } from "../json-schema/check.ts";
import type { McpClient } from "./client.ts";
import { readTools, TOOLS_MAX } from "./definition.ts";
import { describeTools } from "./differences.ts";
import type { NewMcpServer } from "./input.ts";
import type { McpServerRow, McpTool } from "./server.ts";
import type { mcpServerStore, ServerReading, TakeReading } from "./store.ts";
import { openTarget, secretOf } from "./tool.ts";
import type { McpTarget } from "./wire.ts";

export const REFRESH_EVERY_MS = 3_600_000;
const TIMEOUT_MS = 30_000;
/** Time for all pages of a server's list. */
const LIST_TIMEOUT_MS = 30_000;
const PAGES_MAX = 20;
const CURSOR_CHARACTERS_MAX = 4_096;
const PROBLEM_CHARACTERS_MAX = 500;

export interface McpServersDeps {
  store: Bound<typeof mcpServerStore>;
  client: Pick<McpClient, "request" | "end">;
  openConnection: OpenCredentials;
  checkSchema: CheckSchema;
  egress: Pick<GuardedEgress, "validate">;
  clock: Clock;
  ids: Pick<Ids, "uuid">;
  catalog: Pick<Catalog, "find">;
  settings(): Pick<Settings, "limits">;
}

type ReadServer = Pick<McpServerRow, "account_id" | "name" | "url" | "connection_id">;
type ToolListing = { tools: unknown[]; protocol_version: string; title: string | null };

export class McpServers {
  readonly #deps: McpServersDeps;

  constructor(deps: McpServersDeps) {
    this.#deps = deps;
  }

  get store() {
    return this.#deps.store;
  }

  /** Registers a server with its tools; one that cannot be read now is read again later. */
  async create(account_id: string, body: NewMcpServer): Promise<McpServerRow> {
    const { egress, clock, ids, store } = this.#deps;
    const checked = egress.validate(body.url);
    // agents.errors.url_refused
    if (!checked.ok) throw apiError("url_refused", { param: "url", message: checked.reason });
    const { connection_id } = body;
    if (connection_id) await store.bind(connection_id, account_id, checked.url.host);
    const now = clock.now();
    const row: McpServerRow = {
      ...{ id: ids.uuid(), account_id, name: body.name, url: body.url },
      connection_id: connection_id ?? null,
      timeout_ms: body.timeout_ms ?? TIMEOUT_MS,
      ...{ protocol_version: null, title: null, skipped: [], problem: null, refreshed_at: null },
      ...{ created_at: now, refresh_at: now + REFRESH_EVERY_MS },
    };
    const read = await this.#read(row);
    if ("problem" in read) return store.create({ ...row, ...read }, null, this.#take(true, null));
    return store.create(row, read, this.#take(true, read));
  }

  /** Reads a server's tools again; a failure is noted on it. Undefined: it is gone. */
  async refresh(row: McpServerRow): Promise<McpServerRow | undefined> {
    const { store } = this.#deps;
    const { id, account_id } = row;
    const reading = await this.#read(row);
    if ("problem" in reading) return store.noteProblem(id, account_id, reading.problem);
    return store.refresh({ id, account_id }, reading, this.#take(false, reading));
  }

  async listTools(id: string, account_id: string): Promise<McpTool[]> {
    return describeTools(await this.#deps.store.listTools(id, account_id));
  }

  #take(isAccepted: boolean, reading: ServerReading | null): TakeReading {
    const { catalog, clock, settings } = this.#deps;
    const names = reading?.definitions.map(({ name }) => name) ?? [];
    const reserved = names.filter((name) => catalog.find(name) !== undefined);
    return { now: clock.now(), limits: settings().limits, isAccepted, reserved };
  }

  async #read(row: ReadServer): Promise<ServerReading | { problem: string }> {
    const target = await openTarget(row, this.#deps);
    if ("problem" in target) return target;
    const reading = await this.#list({ ...target, session: `${target.session} list` });
    if ("problem" in reading) {
      const { problem } = reading;
      const secret = secretOf(target);
      const clean = secret === null ? problem : await scrub(problem, secret, false);
      return { problem: shorten(writeOneLine(clean), PROBLEM_CHARACTERS_MAX) };
    }
    const { tools, protocol_version, title } = reading;
    try {
      const read = await readTools(tools, row.name, row.account_id, this.#deps.checkSchema);
      return { ...read, protocol_version, title };
    } catch (error) {
      // The compute Workers are busy with other work.
      if (error instanceof ApiError) return { problem: error.message };
      throw error;
    }
  }

  /** All pages of the server's list, with one time for all of them. */
  async #list(target: McpTarget): Promise<ToolListing | { problem: string }> {
    const { client, clock } = this.#deps;
    const tools: unknown[] = [];
    const time = abortAfter(clock, LIST_TIMEOUT_MS);
    const endAt = clock.monotonic() + LIST_TIMEOUT_MS;
    try {
      let cursor: string | undefined;
      for (let page = 0; page < PAGES_MAX; page++) {
        const reply = await client.request(target, {
          method: "tools/list",
          params: cursor === undefined ? {} : { cursor },
          timeoutMs: Math.max(1, endAt - clock.monotonic()),
          signal: time.signal,
        });
        if (!reply.ok) return { problem: reply.message };
        const { result, error } = reply.answer;
        if (!result) return { problem: `The server lists no tools: ${error!.message}` };
        if (!Array.isArray(result.tools)) return { problem: "The server's list has no tools." };
        tools.push(...result.tools.slice(0, TOOLS_MAX + 1));
        const { nextCursor } = result;
        const hasMore = typeof nextCursor === "string" && tools.length <= TOOLS_MAX;
        if (!hasMore) {
          const { revision, title } = reply.session!;
          return { tools, protocol_version: revision, title };
        }
        if (nextCursor.length > CURSOR_CHARACTERS_MAX)
          return { problem: "Its cursor is too long." };
        cursor = nextCursor;
      }
      return { problem: `The server's list has more than ${PAGES_MAX} pages.` };
    } finally {
      time.cancel();
      client.end(target);
    }
  }
}
