// Remembers the endpoints that this process has to do with.
import { createEndpoint, type Endpoint } from "./endpoint-state.ts";

/** Those that nothing waits for are remembered up to about so many. */
const REMEMBERED = 10_000;

/** Finds an endpoint by its id; one that nobody knows yet is as a new one. */
export function createKnownEndpoints(): (id: string) => Endpoint {
  const endpoints = new Map<string, Endpoint>();
  let forget_at = REMEMBERED;

  const forgetIdle = () => {
    for (const [id, { held, is_resting, lanes }] of endpoints) {
      const isIdle = lanes.every((lane) => lane.due_at === Number.POSITIVE_INFINITY);
      if (isIdle && held === 0 && !is_resting) endpoints.delete(id);
    }
    forget_at = Math.max(REMEMBERED, 2 * endpoints.size);
  };
  return (id) => {
    const known = endpoints.get(id);
    if (known) return known;
    if (endpoints.size >= forget_at) forgetIdle();
    const made = createEndpoint(id);
    endpoints.set(id, made);
    return made;
  };
}
