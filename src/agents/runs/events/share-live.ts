// Joins the live text of several processes, where they have a Valkey in common.
import type { Database } from "../../../database/index.ts";
import { installationStore } from "../../../installation/index.ts";
import type { Service } from "../../../platform/service.ts";
import { deltaFrame } from "./frames.ts";
import type { LiveRuns } from "./live.ts";
import type { SharedLive, SharedLiveOptions } from "./shared-live.ts";

interface LiveSharing extends Omit<SharedLiveOptions, "installation" | "writeDelta"> {
  live: LiveRuns;
  database: Database;
}

/** Without the address of a Valkey the list is empty. */
export function shareLive({ database, ...options }: LiveSharing): Service[] {
  if (options.url === "") return [];
  let shared: SharedLive | undefined;
  return [
    {
      name: "live text",
      async start() {
        // Loaded only where it is used: most servers run alone.
        const { SharedLive } = await import("./shared-live.ts");
        const { id: installation } = await database.bind(installationStore).find();
        shared = new SharedLive({ ...options, installation, writeDelta: deltaFrame });
        options.live.others = shared;
        shared.start();
      },
      stop: () => shared?.stop(),
    },
  ];
}
