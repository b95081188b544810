// Budgets of accounts that several processes serve: the database decides, and the counters of this
// process are copies of what it answered last.
import type { Claimant, Process } from "../../cluster/index.ts";
import type { Bound } from "../../database/index.ts";
import { findUse } from "./amounts.ts";
import type { ReservedUse } from "./headers.ts";
import type {
  budgetStore,
  LimitAlert,
  PeriodRanges,
  ReservationRow,
  RootRow,
  SettledRequest,
} from "./store.ts";

interface OpenRequest {
  root: string;
  found: readonly ReservedUse[];
  /** Called when its use is written, and that of others is known. */
  onWritten(): void;
}

export interface SharedUseOptions {
  store: Bound<typeof budgetStore>;
  process: Pick<Process, "epoch" | "join">;
}

export class SharedUse {
  readonly #options: SharedUseOptions;
  /** Keyed by their ids; one stays until its end is written. */
  readonly #open = new Map<string, OpenRequest>();

  constructor(options: SharedUseOptions) {
    this.#options = options;
    options.process.join({
      reclaim: (isDead) => this.#reclaim(isDead),
      onEpochLost() {},
      onHeartbeat() {},
    });
  }

  /** Returns whether it had room; either way the counters hold what the database answered. */
  async reserve(row: ReservationRow, request: OpenRequest): Promise<boolean> {
    const { store, process } = this.#options;
    const { root, found } = request;
    this.#open.set(row.id, request);
    const limited = found.map(({ subject }) => subject);
    const held = { ...row, epoch: process.epoch };
    const answer = await store.reserveWithin(root, held, limited, listRanges(found));
    copyUses(answer.roots, found);
    if (!answer.isReserved) this.#open.delete(row.id);
    return answer.isReserved;
  }

  async refresh(found: readonly ReservedUse[]): Promise<void> {
    if (found.length === 0) return;
    const subjects = found.map(({ subject }) => subject.name);
    copyUses(await this.#options.store.readUses(subjects, listRanges(found)), found);
  }

  /** Writes what may be repeated: each reservation is settled once. */
  async settle(requests: readonly SettledRequest[], alerts: readonly LimitAlert[]): Promise<void> {
    const rootOf = ({ id }: SettledRequest) => this.#open.get(id)?.root ?? "";
    const groups = Map.groupBy(requests, rootOf);
    // Alerts have no root, and no request may wait for them.
    if (alerts.length > 0) groups.set("", groups.get("") ?? []);
    const settling = [...groups].map(async ([root, group]) => {
      const uses = await this.#options.store.settleWithin(root, group, root === "" ? alerts : []);
      for (const { id } of group) {
        const open = this.#open.get(id);
        this.#open.delete(id);
        if (!open) continue;
        copyUses(uses, open.found);
        open.onWritten();
      }
    });
    const failed = (await Promise.allSettled(settling)).find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  }

  /** Charges what dead processes have reserved; others still settle their own. */
  async #reclaim(isDead: Parameters<Claimant["reclaim"]>[0]): Promise<void> {
    const { store } = this.#options;
    for (const epoch of (await store.listEpochs()).filter(isDead)) await store.recoverEpoch(epoch);
  }
}

function listRanges([first]: readonly ReservedUse[]): PeriodRanges {
  const { minute, day, month } = first!.uses;
  const range = ({ start, end }: typeof minute) => ({ start, end });
  return { minute: range(minute), day: range(day), month: range(month) };
}

function copyUses(roots: readonly RootRow[], found: readonly ReservedUse[]): void {
  for (const { subject, uses } of found) {
    const root = roots.find((one) => one.subject === subject.name);
    for (const use of Object.values(uses)) {
      const known = root && findUse(root.uses, use);
      if (known) Object.assign(use, { used: { ...known.used }, reserved: { ...known.reserved } });
    }
  }
}
