// How a model server is started, stopped and checked, by the operator's requests and commands.
import { OWN_ACCOUNT, type TrustedEgress } from "../../net/index.ts";
import { abortAfter, type Clock, wait } from "../../platform/clock.ts";
import { runCommand } from "../../platform/command.ts";
import { formatDuration } from "../../platform/duration.ts";
import type { StartSettings } from "../../settings/index.ts";
import { fetchText, isGood } from "../providers/body.ts";
import { connectionError } from "../providers/openai/errors.ts";

type StartAction = (signal: AbortSignal) => Promise<string | null>;

export interface StartPlan {
  /** Tests the health, within a few seconds. */
  isUp(): Promise<boolean>;
  /** Absent if something else starts the server. */
  start: StartAction | null;
  stop: StartAction | null;
  timeoutMs: number;
  /** Time without requests before a stop; 0 for never. */
  idleStopMs: number;
  minUpMs: number;
}

export interface StartPlanOptions {
  egress: TrustedEgress;
  clock: Clock;
}

export type StartResult = { isUp: true; startMs: number } | StartFailure;

export interface StartFailure {
  isUp: false;
  code: "model_offline" | "upstream_timeout";
  reason: string;
}

/** Maximum time of a health check; a server under load may be slow. */
const CHECK_MS = 5_000;
const POLL_MS = 1_000;
const BYTES_MAX = 65_536;

export function createStartPlan(
  settings: StartSettings,
  { egress, clock }: StartPlanOptions,
): StartPlan {
  const act = (request: string, command: readonly string[]): StartAction | null => {
    if (request !== "") return createRequest(request, egress);
    return command.length > 0 ? (signal) => runCommand(command, clock, signal) : null;
  };
  const check = createRequest(`GET ${settings.health}`, egress);
  return {
    async isUp() {
      const deadline = abortAfter(clock, CHECK_MS);
      const failure = await check(deadline.signal);
      deadline.cancel();
      return failure === null;
    },
    start: act(settings.request, settings.command),
    stop: act(settings.stop, settings.stop_command),
    timeoutMs: settings.timeout_ms,
    idleStopMs: settings.idle_stop_ms,
    minUpMs: settings.min_up_ms,
  };
}

export function isServerUp(settings: StartSettings, options: StartPlanOptions): Promise<boolean> {
  return createStartPlan(settings, options).isUp();
}

function createRequest(action: string, egress: TrustedEgress): StartAction {
  const [method, url] = action.split(" ") as ["GET" | "POST", string];
  const headers = { accept: "*/*" };
  const server = egress.open(url, { headers, connectTimeoutMs: CHECK_MS });
  const body = method === "POST" ? "" : undefined;
  return async (signal) => {
    const request = { body, account: OWN_ACCOUNT, bytesMax: BYTES_MAX, signal };
    const reply = await fetchText(server, request);
    if (reply.status === null) {
      return reply.failure === "left" ? "no answer in time" : connectionError(reply.failure).reason;
    }
    return isGood(reply.status) ? null : `it answered with status ${reply.status}`;
  };
}

/** The stub's imitated server, which outlives changes of the settings. */
export interface StubServer {
  upAtMs: number;
}

export function createStubPlan(startDelayMs: number, server: StubServer, clock: Clock): StartPlan {
  return {
    isUp: async () => clock.monotonic() >= server.upAtMs,
    async start() {
      server.upAtMs = clock.monotonic() + startDelayMs;
      return null;
    },
    async stop() {
      server.upAtMs = Number.POSITIVE_INFINITY;
      return null;
    },
    timeoutMs: startDelayMs + CHECK_MS,
    idleStopMs: 0,
    minUpMs: 0,
  };
}

/**
 * Starts a server and waits for its health; a command that is the server itself goes on running.
 * `trustsHealth` is false after our own stop: health counts once the action is done or it was down.
 */
export async function startServer(
  { isUp, start, timeoutMs }: Pick<StartPlan, "isUp" | "start" | "timeoutMs">,
  clock: Clock,
  trustsHealth: boolean,
): Promise<StartResult> {
  const startedAt = clock.monotonic();
  const end = new AbortController();
  const deadline = abortAfter(clock, timeoutMs, end.signal);
  const failed = Promise.withResolvers<StartResult>();
  let isTrusted = trustsHealth;
  start?.(deadline.signal).then((reason) => {
    if (reason === null) isTrusted = true;
    else if (!deadline.signal.aborted) failed.resolve(fail("model_offline", reason));
  }, failed.reject);
  const poll = async (): Promise<StartResult> => {
    while (!deadline.signal.aborted) {
      const isHealthy = await isUp();
      if (deadline.signal.aborted) break;
      const startMs = Math.round(clock.monotonic() - startedAt);
      if (isHealthy && isTrusted) return { isUp: true, startMs };
      if (!isHealthy) isTrusted = true;
      await wait(clock, POLL_MS, deadline.signal);
    }
    return fail("upstream_timeout", `it was not up within ${formatDuration(timeoutMs)}`);
  };
  try {
    const result = await Promise.race([failed.promise, poll()]);
    // Before the cancel, which would part the deadline from this end.
    if (!result.isUp) end.abort();
    deadline.cancel();
    return result;
  } catch (bug) {
    end.abort();
    throw bug;
  }
}

function fail(code: StartFailure["code"], reason: string): StartFailure {
  return { isUp: false, code, reason };
}
