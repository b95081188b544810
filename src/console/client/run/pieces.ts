// Pieces of work of a run, one for each row of its waterfall: queue, model, calls, events.
import type { EventStep, ReplyStep, ShownRun, StepItem } from "./data.ts";

type BarKind = "queue" | "ttft" | "model" | "tool" | "wait" | "pause" | "failed";

/** A span of time in milliseconds since 1970. */
export interface Bar {
  kind: BarKind;
  from: number;
  to: number;
}

export interface WorkPiece {
  /** Selects it in the address: the number of its first step, or a word. */
  key: string;
  kind: "queue" | "model" | "tool" | "event";
  round: number;
  name: string;
  bars: Bar[];
  /** Steps that tell about it, in their order. */
  steps: StepItem[];
  /** Cost in SAR: undefined where there is none, null where it is unknown. */
  cost: string | null | undefined;
  isExternal: boolean;
  state: "done" | "running" | "waiting" | "rejected" | "failed";
}

const QUEUE = "0";
/** Key of work that no step tells about: it is under way, or has failed. */
export const OPEN = "now";

/** Errors of a run that are not those of its model. */
const OTHER_ERRORS = new Set([
  ...["approval_expired", "permission_denied", "invalid_arguments", "crash_loop", "cancelled"],
]);
const FINE = new Set(["ok", "cancelled", "rejected", "expired"]);

const time = (iso: string) => Date.parse(iso);

/** Lists the pieces of a run; work under way ends now. */
export function listPieces(run: ShownRun, steps: readonly StepItem[], now: number): WorkPiece[] {
  const list = new PieceList(run, now);
  for (const step of steps) list.add(step);
  return list.finish();
}

class PieceList {
  readonly #run: ShownRun;
  readonly #now: number;
  readonly #pieces: WorkPiece[] = [];
  readonly #calls = new Map<string, WorkPiece>();
  /** Failed attempts and pauses before the next reply. */
  #retries: Bar[] = [];
  /** End of the last step. */
  #last: number;

  constructor(run: ShownRun, now: number) {
    this.#run = run;
    const created = time(run.created_at);
    const started = run.started_at === null ? (run.finished_at ?? null) : run.started_at;
    this.#now = Math.max(now, created);
    this.#last = started === null ? this.#now : time(started);
    const bars: Bar[] = [{ kind: "queue", from: created, to: this.#last }];
    const state = run.started_at === null && run.finished_at === null ? "running" : "done";
    this.#pieces.push({ ...EMPTY, key: QUEUE, kind: "queue", bars, state, steps: [] });
  }

  add(step: StepItem): void {
    switch (step.kind) {
      case "assistant":
        this.#addReply(step, step.data);
        break;
      case "tool_call": {
        const { tool_call_id, name } = step.data;
        const known = this.#calls.get(tool_call_id);
        if (known) known.steps.push(step);
        else {
          const piece = this.#push(step, { kind: "tool", name, state: "running" });
          this.#calls.set(tool_call_id, piece);
        }
        break;
      }
      case "approval":
        this.#addDecision(step);
        break;
      case "tool_result":
        this.#addResult(step);
        break;
      case "system":
        this.#addEvent(step, step.data);
    }
    this.#last = Math.max(this.#last, time(step.created_at));
  }

  finish(): WorkPiece[] {
    const { status, finished_at } = this.#run;
    const end = finished_at === null ? this.#now : time(finished_at);
    for (const piece of this.#calls.values()) {
      if (piece.state === "waiting") closeWait(piece, end);
      if (piece.state === "running") {
        const from = time(piece.steps.at(-1)!.created_at);
        if (finished_at === null) piece.bars.push({ kind: "tool", from, to: end });
        else piece.state = "done";
      }
    }
    const isOpen = [...this.#calls.values()].some(({ state }) => {
      return state === "running" || state === "waiting";
    });
    if (status === "running" && !isOpen) this.#addOpen(end, "running");
    if (status === "failed" && this.#isModelFailure()) this.#addOpen(end, "failed");
    return this.#pieces;
  }

  #push(step: StepItem, fields: Partial<WorkPiece> & Pick<WorkPiece, "kind">): WorkPiece {
    const place = { key: String(step.seq), round: step.round, steps: [step], bars: [] };
    const piece: WorkPiece = { ...EMPTY, ...place, ...fields };
    this.#pieces.push(piece);
    return piece;
  }

  #addReply(step: StepItem, { model, cost }: ReplyStep): void {
    const from = time(step.started_at ?? step.created_at);
    const to = Math.max(from, time(step.ended_at ?? step.created_at));
    const asked = Math.min(to, from + (step.waited_ms ?? 0));
    const first = step.first_token_ms === null ? asked : from + step.first_token_ms;
    const bars: Bar[] = [
      ...this.#takeRetries(from),
      { kind: "queue", from, to: asked },
      { kind: "ttft", from: asked, to: Math.min(Math.max(asked, first), to) },
      { kind: "model", from: Math.min(Math.max(asked, first), to), to },
    ];
    this.#push(step, { kind: "model", name: model, cost, bars: bars.filter(isLong) });
  }

  #takeRetries(until: number): Bar[] {
    const retries = this.#retries;
    this.#retries = [];
    return retries.map((bar) => ({ ...bar, to: Math.min(bar.to, until) }));
  }

  #addDecision(step: StepItem & { kind: "approval" }): void {
    const { event, approval } = step.data;
    const piece = this.#calls.get(approval.tool_call_id);
    if (!piece) return;
    piece.steps.push(step);
    if (event === "requested") {
      const from = time(approval.requested_at);
      piece.bars.push({ kind: "wait", from, to: from });
      piece.state = "waiting";
      return;
    }
    closeWait(piece, time(approval.decided_at ?? step.created_at));
    piece.state = event === "approved" ? "running" : "rejected";
  }

  #addResult(step: StepItem & { kind: "tool_result" }): void {
    const { tool_call_id, outcome, cost, external } = step.data;
    const piece = this.#calls.get(tool_call_id);
    if (!piece) return;
    piece.steps.push(step);
    const isFine = FINE.has(outcome);
    if (step.started_at !== null && step.ended_at !== null) {
      const kind = isFine ? "tool" : "failed";
      piece.bars.push({ kind, from: time(step.started_at), to: time(step.ended_at) });
    }
    piece.isExternal = external;
    const wasMade = outcome !== "rejected" && outcome !== "expired" && outcome !== "cancelled";
    piece.cost = wasMade ? cost : undefined;
    piece.state = wasMade ? (isFine ? "done" : "failed") : "rejected";
  }

  #addEvent(step: StepItem, { event, message, detail }: EventStep): void {
    const at = time(step.created_at);
    const call = this.#calls.get(detail?.tool_call_id ?? "");
    if (event === "external_content" && call) {
      call.steps.push(step);
      return;
    }
    const from = step.started_at === null ? at : time(step.started_at);
    if (event === "model_retry") {
      this.#retries.push({ kind: "failed", from, to: at });
      this.#retries.push({ kind: "pause", from: at, to: at + (detail?.wait_ms ?? 0) });
    }
    const isSummary = event === "compacted";
    const bars: Bar[] = isSummary ? [{ kind: "model", from, to: at }] : [];
    const cost = isSummary ? (detail?.cost ?? null) : undefined;
    this.#push(step, { kind: "event", name: message, bars, cost });
  }

  #isModelFailure(): boolean {
    const { error } = this.#run;
    return error !== null && !OTHER_ERRORS.has(error.code);
  }

  #addOpen(end: number, state: "running" | "failed"): void {
    const retries = this.#takeRetries(end);
    const from = Math.min(end, Math.max(this.#last, ...retries.map(({ to }) => to)));
    const kind = state === "failed" ? "failed" : "ttft";
    const round = this.#run.usage.rounds + 1;
    const bars = [...retries, { kind, from, to: end } as const].filter(isLong);
    const place = { key: OPEN, kind: "model" as const, name: this.#run.model, round, steps: [] };
    this.#pieces.push({ ...EMPTY, ...place, bars, state });
  }
}

const EMPTY: Omit<WorkPiece, "key" | "kind" | "steps"> = {
  round: 0,
  name: "",
  bars: [],
  cost: undefined,
  isExternal: false,
  state: "done",
};

const isLong = ({ from, to }: Bar) => to > from;

function closeWait({ bars }: WorkPiece, end: number): void {
  const wait = bars.findLast(({ kind }) => kind === "wait");
  if (wait) wait.to = Math.max(wait.from, end);
}

/** Time of a piece without pauses before it; null where it has none. */
export function measurePiece({ bars, kind }: WorkPiece): number | null {
  const own = bars.filter((bar) => bar.kind !== "pause" && (kind === "queue" || isOwn(bar, bars)));
  if (own.length === 0) return null;
  return Math.max(...own.map(({ to }) => to)) - Math.min(...own.map(({ from }) => from));
}

/** Failed attempts before a reply are none of its time. */
function isOwn(bar: Bar, bars: readonly Bar[]): boolean {
  return bar.kind !== "failed" || bars.every(({ kind }) => kind === "failed" || kind === "wait");
}

/** Finds the piece that is shown first: one that waits or failed, else the last. */
export function findDefault(pieces: readonly WorkPiece[], status: string): WorkPiece | undefined {
  const waiting = pieces.find(({ state }) => state === "waiting");
  const failed =
    status === "failed" ? pieces.findLast(({ state }) => state === "failed") : undefined;
  return waiting ?? failed ?? pieces.at(-1);
}

export function findPiece(pieces: readonly WorkPiece[], key: string): WorkPiece | undefined {
  const isOf = ({ steps }: WorkPiece) => steps.some(({ seq }) => String(seq) === key);
  return pieces.find((piece) => piece.key === key) ?? pieces.find(isOf);
}
