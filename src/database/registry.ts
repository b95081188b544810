// Writes by name, run inside transactions that engines open.
import { reachFailPoint } from "../platform/failpoint.ts";
import { sql } from "./sql.ts";
import { type Executor, type Notification, type Store, store, type Tx } from "./store.ts";

/** Text larger than a journal's free space: on a full disk, small writes may still succeed. */
const FILLER = "0".repeat(262_144);

/** The writes that readiness makes: a small one, and one as large as those of callers. */
export const probeStore = store(
  "probe",
  {},
  {
    touch: async (tx, at: number) =>
      void (await tx.run(sql`UPDATE wadi_probe SET at = ${at}, filler = ''`)),
    fill: async (tx, at: number) =>
      void (await tx.run(sql`UPDATE wadi_probe SET at = ${at}, filler = ${FILLER}`)),
  },
);

export interface WriteCall {
  store: string;
  method: string;
  args: unknown[];
}

export type Registry = ReadonlyMap<string, Store>;

export function createRegistry(stores: readonly Store[]): Registry {
  return new Map([probeStore as Store, ...stores].map((one) => [one.name, one]));
}

export const nameWrite = (store: string, method: string): string => `${store}.${method}`;

export function listWrites(registry: Registry): string[] {
  return [...registry.values()].flatMap((one) =>
    Object.keys(one.writes).map((method) => nameWrite(one.name, method)),
  );
}

/**
 * Runs one write. A crash at the fail point `:before` must leave nothing of it. Engines reach
 * `:after` when it is committed.
 */
export async function runWrite(
  registry: Registry,
  tx: Executor,
  notifications: Notification[],
  call: WriteCall,
): Promise<unknown> {
  const name = nameWrite(call.store, call.method);
  const write = registry.get(call.store)?.writes[call.method];
  if (!write) throw new Error(`no write ${name}: is its store named in stores.ts?`);
  const own: Notification[] = [];
  let isEnding = false;
  const end = () => {
    if (!isEnding) reachFailPoint(`${name}:before`);
    isEnding = true;
  };
  const whole: Tx = {
    ...tx,
    tell: (channel, id) => void own.push([channel, id]),
    commitEarly() {
      end();
      tx.commitEarly(own);
    },
  };
  const result = await write(whole, ...(call.args as never[]));
  end();
  // A write that throws is rolled back, so its notifications must not leave.
  notifications.push(...own);
  return result;
}

export type Queue = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs work one by one, also after a failure. */
export function createQueue(): Queue {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
}
