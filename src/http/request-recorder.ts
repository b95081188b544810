// The seam at which whoever keeps accounts of a route hears what became of each of its requests.
import type { Caller } from "../access/index.ts";
import type { Trace } from "../platform/trace.ts";

/**
 * A request that counts: of a known caller, within the rate limit. What is refused before that is
 * not metered, or strangers could make a table grow that nobody has promised them room in.
 */
export interface MeteredRequest {
  caller: Caller;
  request_id: string;
  trace: Trace | null;
  /** On the monotonic clock, when the door got the request. */
  started_at: number;
}

/** What one request comes to, from its arrival to its end. */
export interface RequestRecorder {
  /** Bytes of its body: those announced until it is read, then those that were read. */
  request_bytes: number;
  /**
   * Its end, told once: by the door when it has the whole reply, or by a handler when its stream is
   * over. `code` is what the caller was told, null: nothing went wrong.
   */
  close(status: number, code: string | null, reply_bytes: number): void;
}

export interface RecorderFactory<T extends RequestRecorder = RequestRecorder> {
  open(arrival: MeteredRequest): T;
}
