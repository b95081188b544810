// One request of a client with all that its answer needs, and the forms of the answer.
import type { Caller } from "../../access/index.ts";
import type { RunsDeps } from "../runs/deps.ts";
import type { RunStarter } from "../runs/start.ts";
import type { RunPosition } from "../runs/store/reads.ts";
import type { RunWaits } from "../runs/waits.ts";
import type { McpCall, McpClientForm } from "./protocol.ts";
import type { SeenRun } from "./views.ts";

export interface McpExchange {
  call: McpCall;
  form: McpClientForm;
  caller: Caller;
  request: Request;
  requestId: string;
  /** Address at which people open the console; null: there is none. */
  consoleUrl: string | null;
  /** Writes the whole answer of a result. */
  write(result: object): string;
}

/** A result, or an event stream that ends with one. */
export type McpCallOutcome = object | Response;

/** Answers with an event stream whose end is what `show` makes of the run. */
export type WaitForRun = (
  exchange: McpExchange,
  run_id: string,
  timeoutMs: number,
  isOver: (position: RunPosition) => boolean,
  show?: (seen: SeenRun) => object,
) => Response;

export interface McpCallsDeps extends RunsDeps {
  starter: RunStarter;
  waits: RunWaits;
}
