// Finds a write by name and runs it inside a transaction that an engine has opened.
import { reachFailPoint } from "../platform/failpoint.ts";
import { probeStore } from "./probe.ts";
import type { Notification, Store, Tx } from "./store.ts";

export type Registry = ReadonlyMap<string, Store>;

export function createRegistry(stores: readonly Store[]): Registry {
  return new Map([probeStore as Store, ...stores].map((one) => [one.name, one]));
}

/** Every write as `store.method`: the names of the fail points. */
export function listWrites(registry: Registry): string[] {
  return [...registry.values()].flatMap((one) =>
    Object.keys(one.writes).map((method) => `${one.name}.${method}`),
  );
}

/**
 * Runs one write. The fail point `:before` lies behind its statements and in front of the commit:
 * dying there must leave nothing; `:after` lies behind the commit and is reached by the engine.
 */
export async function runWrite(
  registry: Registry,
  tx: Omit<Tx, "tell">,
  told: Notification[],
  name: string,
  method: string,
  args: unknown[],
): Promise<unknown> {
  const write = registry.get(name)?.writes[method];
  if (!write) throw new Error(`no write ${name}.${method}: is its store named in stores.ts?`);
  const mine: Notification[] = [];
  const whole: Tx = { ...tx, tell: (channel, id) => void mine.push([channel, id]) };
  const result = await write(whole, ...(args as never[]));
  reachFailPoint(`${name}.${method}:before`);
  // A write that threw has told nothing: its changes are rolled back.
  told.push(...mine);
  return result;
}
