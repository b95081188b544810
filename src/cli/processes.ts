// `wadi processes` and `wadi reload`: the processes that serve the same data.
import { type ListedProcess, processOperations as operations } from "../admin/index.ts";
import { createSystemClock, wait } from "../platform/clock.ts";
import { type Command, UsageError } from "./command.ts";
import { call, operate } from "./operations.ts";
import { type Output, printRow, printTable } from "./output.ts";

const COLUMNS = [
  ...["epoch", "state", "address", "pid", "version", "schema", "settings", "runs", "deliveries"],
  ...["leases", "started_at"],
];
const RELOAD_COLUMNS = ["epoch", "address", "settings", "settings_fault", "is_reload_pending"];
const LOOK_EVERY_MS = 200;
/** Maximum time until a process answers, which reads its row every two seconds. */
const RELOAD_MS_MAX = 15_000;

function readEpoch(typed: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(typed)) return Number(typed);
  throw new UsageError("EPOCH is a number of `wadi processes list`");
}

function warnOfDifference(rows: readonly ListedProcess[], output: Output): void {
  const hashes = new Set(rows.flatMap(({ settings }) => settings ?? []));
  if (hashes.size < 2) return;
  output.say("the processes have different settings: give them the same file, and `wadi reload`");
}

export const commands: readonly Command[] = [
  {
    name: "processes list",
    help: "List the processes on the data, and what each holds",
    example: "wadi processes list",
    async run(input, output) {
      const rows = await call(input, operations.list, {});
      warnOfDifference(rows, output);
      return printTable(output, rows, COLUMNS);
    },
  },
  {
    name: "processes drain",
    args: ["EPOCH"],
    isUnsuggested: true,
    help: "Let a process hand over its work, and wait until it has; then end it",
    example: "wadi processes drain 12",
    async run(input, output) {
      const epoch = readEpoch(input.args[0]!);
      const clock = createSystemClock();
      const drained = await operate(input, async (perform) => {
        let row = await perform(operations.drain, { epoch });
        while (row.state === "draining") {
          await wait(clock, LOOK_EVERY_MS);
          const found = (await perform(operations.list, {})).find((one) => one.epoch === epoch);
          if (!found) return { ...row, state: "ended" };
          row = found;
        }
        return row;
      });
      return printRow(output, drained);
    },
  },
  {
    name: "processes undrain",
    args: ["EPOCH"],
    isUnsuggested: true,
    help: "Take a drain back: the process takes work again",
    example: "wadi processes undrain 12",
    async run(input, output) {
      const epoch = readEpoch(input.args[0]!);
      return printRow(output, await call(input, operations.undrain, { epoch }));
    },
  },
  {
    name: "reload",
    help: "Let all processes on the data read their settings file again",
    example: "wadi reload",
    async run(input, output) {
      const clock = createSystemClock();
      const rows = await operate(input, async (perform) => {
        let rows = await perform(operations.reload, {});
        const asked = new Set(rows.map(({ epoch }) => epoch));
        const isOver = clock.monotonic() + RELOAD_MS_MAX;
        while (rows.some((row) => row.is_reload_pending) && clock.monotonic() < isOver) {
          await wait(clock, LOOK_EVERY_MS);
          rows = (await perform(operations.list, {})).filter(({ epoch }) => asked.has(epoch));
        }
        return rows;
      });
      warnOfDifference(rows, output);
      printTable(output, rows, RELOAD_COLUMNS);
      const isDone = rows.every((row) => !row.is_reload_pending && row.settings_fault === null);
      return isDone ? 0 : 1;
    },
  },
];
