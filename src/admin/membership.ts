// Joins a server to the other processes on its data, from its modules.
import { hostname } from "node:os";
import { Membership, type Process } from "../cluster/index.ts";
import { SCHEMA_NUMBER } from "../database/index.ts";
import type { HttpServer } from "../http/index.ts";
import { activityStore } from "../inventory/index.ts";
import type { Log } from "../platform/log.ts";
import { hashSettings, type Settings } from "../settings/index.ts";
import type { AdminDeps } from "./deps.ts";

export interface MembershipParts extends Pick<AdminDeps, "database" | "clock" | "secrets"> {
  log: Log;
  version: string;
  process: Process;
  server: Pick<HttpServer, "addresses">;
  settings(): Settings;
  /** The file of the settings; `fault` tells why it was refused when it was last read. */
  settingsFile?: { reload(): Promise<void>; readonly fault: string | null };
  /** Begins no more work, and sends clients to other processes. */
  drain(): Promise<void>;
  undrain(): void;
}

export function openMembership(parts: MembershipParts): Membership {
  const { database, server, secrets, settings, settingsFile, version } = parts;
  const { countHeld } = database.bind(activityStore);
  const hash = keepHash();
  return new Membership({
    ...parts,
    pause: parts.drain,
    resume: parts.undrain,
    countHeld,
    reload: async () => settingsFile?.reload(),
    about: () => ({
      address: nameAddress(server),
      pid: process.pid,
      version,
      schema_number: SCHEMA_NUMBER,
      settings_hash: hash(settings()),
      settings_fault: settingsFile?.fault ?? null,
      key_ids: secrets.listKeyIds().join(","),
    }),
  });
}

function nameAddress({ addresses: [first] }: MembershipParts["server"]): string | null {
  return first ? `${hostname()}:${first.port}` : null;
}

/** Hashes settings once, since they are told every two seconds. */
function keepHash(): (settings: Settings) => string | null {
  let known: Settings | undefined;
  let hash: string | null = null;
  return (settings) => {
    if (settings !== known) hash = hashSettings(settings);
    known = settings;
    return hash;
  };
}
