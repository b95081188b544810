// The id of a request: the caller's own where it is well formed, else a fresh one.
import type { Ids } from "../platform/ids.ts";

/** gateway.limits.request_id */
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** gateway.errors.headers.x_request_id */
export function chooseRequestId(request: Request, ids: Ids): string {
  const sent = request.headers.get("x-request-id");
  return sent !== null && REQUEST_ID.test(sent) ? sent : ids.uuid();
}
