// Who asks the gateway from inside the program: what the door knows of a request, without one.
import type { Caller } from "../access/index.ts";
import type { Trace } from "../platform/trace.ts";

/** The rights are those of the moment: whoever goes on for long looks for its caller each time. */
export interface InternalCaller {
  caller: Caller;
  request_id: string;
  trace: Trace | null;
}
