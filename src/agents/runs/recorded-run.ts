// A recorded run, whose log has the replies and results that its rerun takes.
import { READ_OUTPUT } from "./calls/known-addresses.ts";
import { listCalls, nameCall } from "./calls/logged-calls.ts";
import type { RunRow } from "./run.ts";
import type { AssistantData, StepRow, ToolCallData, ToolResultData } from "./step.ts";
import type { RunStore } from "./store/index.ts";

type LoggedStep = Pick<StepRow, "kind" | "round" | "data">;

type RerunRow = Pick<RunRow, "rerun_of" | "rerun_tools" | "rerun_from_round">;

export class RecordedRun {
  readonly #row: RerunRow;
  readonly #findOutput: RunStore["findOutput"];
  readonly #replies = new Map<number, AssistantData>();
  /** Results by call, in the order of the calls. */
  readonly #results = new Map<string, ToolResultData[]>();

  constructor(row: RerunRow, steps: readonly LoggedStep[], findOutput: RunStore["findOutput"]) {
    this.#row = row;
    this.#findOutput = findOutput;
    for (const { kind, round, data } of steps) {
      if (kind === "assistant" && this.mustReplay(round)) {
        this.#replies.set(round, data as AssistantData);
      }
    }
    for (const { call, result } of listAnswered(steps)) {
      if (result.outcome === "cancelled") continue;
      const name = nameCall(call);
      const found = this.#results.get(name);
      if (found) found.push(result);
      else this.#results.set(name, [result]);
    }
  }

  /** The round is taken from the record. */
  mustReplay(round: number): boolean {
    return round < (this.#row.rerun_from_round ?? 1);
  }

  /** Calls of the round are answered from the record. */
  answersCalls(round: number): boolean {
    return this.#row.rerun_tools === "recorded" || this.mustReplay(round);
  }

  findReply(round: number): AssistantData | undefined {
    return this.#replies.get(round);
  }

  /** Drops the results that the rerun took before it was interrupted. */
  skip(steps: readonly LoggedStep[]): void {
    for (const { call, round } of listAnswered(steps)) {
      if (call.decision !== "refused" && this.answersCalls(round)) this.take(call);
    }
  }

  /** Takes the next result of the same call; undefined: there is none, or no longer. */
  take(call: ToolCallData): ToolResultData | undefined {
    return this.#results.get(nameCall(call))?.shift();
  }

  /** Reads the whole output of a result, which may show parts of it. */
  async readWhole({ truncated, tool_call_id, content }: ToolResultData): Promise<string> {
    const whole = truncated ? await this.#findOutput(this.#row.rerun_of!, tool_call_id) : undefined;
    return whole ?? content;
  }
}

/** Opens the record of a rerun; null for other runs, and where calls are made from the start. */
export async function openRecordedRun(
  { listSteps, findOutput }: Pick<RunStore, "listSteps" | "findOutput">,
  row: RunRow,
  ownSteps: readonly StepRow[],
): Promise<RecordedRun | null> {
  if (row.rerun_of === null) return null;
  if (row.rerun_tools === "live" && row.rerun_from_round === null) return null;
  const recorded = new RecordedRun(row, await listSteps(row.rerun_of, 0, null), findOutput);
  recorded.skip(ownSteps);
  return recorded;
}

/** Calls with a result, in their order. A call without arguments was no call. */
function listAnswered(steps: readonly LoggedStep[]) {
  return listCalls(steps).flatMap(({ data, round, result }) => {
    // A read of an output names a call of its own run, and is never recorded.
    const isKept = result && data.arguments !== null && data.name !== READ_OUTPUT;
    return isKept ? [{ call: data, round, result }] : [];
  });
}
