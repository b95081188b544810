// Dependencies of the admin module; each use case picks what it needs.
import type { Access } from "../access/index.ts";
import type { LiveSnapshot } from "../agents/index.ts";
import type { SecretStore } from "../crypto/index.ts";
import type { Database, DatabaseLocation } from "../database/index.ts";
import type { MeteredStatus } from "../gateway/index.ts";
import type { SendAs } from "../http/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Settings } from "../settings/index.ts";
import { DiskSpace } from "../storage/index.ts";
import type { Installation } from "./installation.ts";

export interface AdminDeps {
  /** Only models of the settings can be switched, granted and put on a key's list. */
  settings: Settings;
  access: Access;
  database: Database;
  /** Place of the database. */
  place: DatabaseLocation;
  clock: Clock;
  ids: Ids;
  secrets: SecretStore;
  installation: Installation;
  /** A command that opens the database beside a server has none. */
  server: ServerState | null;
  /** Reads what the model of a run writes; absent where no server can be asked. */
  readLive?(run_id: string): Promise<LiveSnapshot | undefined>;
}

/** Refuses writes of callers where the disk of the database is full. */
export const openDisk = ({ place, clock, settings }: AdminDeps): DiskSpace =>
  new DiskSpace(place, clock, () => settings.limits.free_disk_bytes);

/** Servers of a model, as the running server knows them. */
export interface ModelServers {
  /** Requests that wait for a place or for a start. */
  waiting: number;
  /** Empty for the model inside the program. */
  replicas: readonly { name: string; isUp: boolean; inFlight: number; isBreakerOpen: boolean }[];
  /** Starts and stops the server that is started on demand; null: it always runs. */
  managed: { canStop: boolean; startNow(): boolean; stopNow(): boolean } | null;
}

/** State of a running server that its database does not hold. */
export interface ServerState {
  uptimeMs(): number;
  /** Returns null where no backup is made on a timer. */
  readBackups(): { made_at: number | null; failure: string | null } | null;
  /** Counts replicas that get requests; undefined for a model that it does not serve. */
  countHealthy(model: string): number | undefined;
  /** Returns undefined for a model that it does not serve. */
  findModelServers(model: string): ModelServers | undefined;
  /** Embeddings and search. */
  listServices(): readonly MeteredStatus[];
  /** Counts the open streams of a key. */
  countStreams(key_id: string): number;
  /** Sends a chat as a key; `from` is the operator's request. */
  sendChat: SendAs;
}
