// Decides if calls of an account's own tool may be sent now.
import type { Settings } from "../../settings/index.ts";
import type { OwnToolState } from "./http/store/index.ts";

type OwnState = Pick<OwnToolState, "status" | "server_id" | "is_changed">;

const OFF = "The tool was switched off.";
export const CHANGED =
  "The tool has changed on its server (tool_changed): its owner has to accept the change first.";

/** Returns null where calls may be sent. `server_id` is that of the pinned revision. */
export function explainOff(
  standing: OwnState | undefined,
  { agents }: Pick<Settings, "agents">,
  server_id: string | null = standing?.server_id ?? null,
): string | null {
  if (!standing || standing.status === "disabled") return OFF;
  const isOpen = standing.server_id === null ? agents.http_tools : agents.mcp;
  if (!isOpen) return OFF;
  // A revision of a server that was deleted goes to an address of the past.
  return standing.is_changed || standing.server_id !== server_id ? CHANGED : null;
}
