// Reads the tools of every MCP server once an hour, and sooner where a reply contradicted them.
import type { Database } from "../../../database/index.ts";
import { type Clock, settlesWithin } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log.ts";
import type { Service } from "../../../platform/service.ts";
import { type NextPass, WorkerLoop } from "../../../platform/worker-loop.ts";
import type { Settings } from "../../../settings/index.ts";
import type { McpServerRow } from "./server.ts";
import { type McpServers, REFRESH_EVERY_MS } from "./servers.ts";

/** Interval between checks; another process may have written, or the wall clock been set. */
const CHECK_EVERY_MS = 60_000;
const RETRY_MS = 5_000;
const SERVERS_AT_ONCE = 4;

export interface RefresherOptions {
  servers: Pick<McpServers, "refresh" | "store">;
  database: Pick<Database, "listen">;
  clock: Clock;
  log: Log;
  settings(): Pick<Settings, "agents">;
}

export class McpRefresher implements Service {
  readonly name = "mcp refresher";
  readonly #options: RefresherOptions;
  readonly #loop: WorkerLoop;
  #unlisten: (() => void) | undefined;

  constructor(options: RefresherOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#loop = new WorkerLoop({
      clock,
      retryMs: RETRY_MS,
      work: (stopping) => this.#refreshDue(stopping),
      onError: (error) => log.error("mcp: servers that are due could not be read", { error }),
    });
  }

  start(): void {
    const wake = () => this.#loop.wake();
    this.#unlisten = this.#options.database.listen("mcp_servers.due", wake);
    wake();
  }

  async stop(deadlineMs: number): Promise<void> {
    this.#unlisten?.();
    await settlesWithin(this.#options.clock, deadlineMs, this.#loop.stop());
  }

  pause(): Promise<void> {
    return this.#loop.pause();
  }

  resume(): void {
    this.#loop.resume();
  }

  async #refreshDue(stopping: AbortSignal): Promise<NextPass> {
    const { servers, clock, settings } = this.#options;
    const { agents } = settings();
    if (!agents.open || !agents.mcp) return { inMs: CHECK_EVERY_MS };
    const now = clock.now();
    const due = await servers.store.claimDue(now, now + REFRESH_EVERY_MS, SERVERS_AT_ONCE);
    await Promise.all(due.map((row) => this.#refresh(row)));
    if (stopping.aborted) return "on_wake";
    if (due.length > 0) return "now";
    const next = await servers.store.findNextDue();
    const waitMs = next === undefined ? CHECK_EVERY_MS : Math.max(next - clock.now(), 0);
    return { inMs: Math.min(waitMs, CHECK_EVERY_MS) };
  }

  /** A failure with one server holds up no other. */
  async #refresh(row: McpServerRow): Promise<void> {
    try {
      await this.#options.servers.refresh(row);
    } catch (error) {
      const { account_id } = row;
      this.#options.log.error("mcp: a server could not be read", { error, account_id });
    }
  }
}
