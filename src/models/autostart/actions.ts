// What starts, stops and looks at a unit: requests and commands of the operator's own file.

import { OWN_ACCOUNT, type TrustedEgress } from "../../net/index.ts";
import { abortAfter, type Clock } from "../../platform/clock.ts";
import { runCommand } from "../../platform/command.ts";
import type { StartSettings } from "../../settings/index.ts";
import { fetchText } from "../providers/body.ts";
import { connectionError } from "../providers/openai/errors.ts";
import type { StartPlan } from "./plan.ts";

/** A look that takes longer has failed; a server under load may be slow to say that it is well. */
const LOOK_MS = 5_000;
/** Only the status is read. */
const BYTES_MAX = 65_536;

export interface ActionsOptions {
  egress: TrustedEgress;
  clock: Clock;
}

type Act = (signal: AbortSignal) => Promise<string | null>;

/** What the settings say of a unit, as what can be done with it. */
export function createStartPlan(
  settings: StartSettings,
  { egress, clock }: ActionsOptions,
): StartPlan {
  const { timeout_ms, idle_stop_ms, min_up_ms } = settings;
  const act = (request: string, command: readonly string[]): Act | null => {
    if (request !== "") return createRequest(request, egress);
    return command.length > 0 ? (signal) => runCommand(command, clock, signal) : null;
  };
  const ask = createRequest(`GET ${settings.health}`, egress);
  return {
    async look() {
      const deadline = abortAfter(clock, LOOK_MS);
      const why = await ask(deadline.signal);
      deadline.cancel();
      return why === null;
    },
    start: act(settings.request, settings.command),
    stop: act(settings.stop, settings.stop_command),
    timeout_ms,
    idle_stop_ms,
    min_up_ms,
  };
}

/** Whether the server of a unit runs; it is not started. */
export function isServerUp(settings: StartSettings, options: ActionsOptions): Promise<boolean> {
  return createStartPlan(settings, options).look();
}

/** A request of a method, a space and a URL: null when it was answered with 2xx. */
function createRequest(action: string, egress: TrustedEgress): Act {
  const [method, url] = action.split(" ") as ["GET" | "POST", string];
  const server = egress.open(url, {
    headers: { accept: "*/*" },
    connect_timeout_ms: LOOK_MS,
  });
  const body = method === "POST" ? "" : undefined;
  return async (signal) => {
    const request = { body, account: OWN_ACCOUNT, bytesMax: BYTES_MAX, signal };
    const reply = await fetchText(server, request);
    if (reply.status === null) {
      return reply.failure === "left" ? "no answer in time" : connectionError(reply.failure).reason;
    }
    if (reply.status >= 200 && reply.status <= 299) return null;
    return `it answered with status ${reply.status}`;
  };
}

/** The stub's server, which does not care what settings say of it later. */
export interface StubServer {
  up_at_ms: number;
}

/** The stub's: as if there were a server that takes so long, and runs for as long as we do. */
export function planStub(start_delay_ms: number, server: StubServer, clock: Clock): StartPlan {
  return {
    look: async () => clock.monotonic() >= server.up_at_ms,
    async start() {
      server.up_at_ms = clock.monotonic() + start_delay_ms;
      return null;
    },
    stop: null,
    timeout_ms: start_delay_ms + LOOK_MS,
    idle_stop_ms: 0,
    min_up_ms: 0,
  };
}
