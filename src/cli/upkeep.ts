// `wadi secrets`, `wadi resume` and `wadi sweep`: upkeep of an installation.
import { upkeepOperations as operations, type Resumption } from "../admin/index.ts";
import { type Command, hasFlag } from "./command.ts";
import { call } from "./operations.ts";
import { drawLines, printRow, printTable, quote } from "./output.ts";

const count = (number: number): string => (number === 1 ? "1 secret" : `${number} secrets`);

function drawResumption(resumption: Resumption): string {
  const { was_paused, queued_runs, interrupted_runs, overdue } = resumption;
  const triggers = overdue.map(({ name, due_at, instants, fires }) => [
    "overdue",
    `${quote(name)}: ${instants} since ${due_at}, ${fires ? "fires now" : "missed"}`,
  ]);
  return drawLines([
    ["installation", was_paused ? "is no longer paused" : "was not paused"],
    ["runs", `${queued_runs} queued, ${interrupted_runs} interrupted`],
    ["deliveries", `${resumption.waiting_deliveries} waiting`],
    ["approvals", `${resumption.pending_approvals} pending`],
    ...(triggers.length > 0 ? triggers : [["overdue", "no trigger"]]),
  ]);
}

export const commands: readonly Command[] = [
  {
    name: "secrets rotate",
    flags: { "give-up": { help: "delete secrets that no available key opens" } },
    help: "Seal all stored secrets under a new secrets key",
    example: "wadi secrets rotate",
    async run(input, output) {
      const give_up = hasFlag(input, "give-up");
      const rotated = await call(input, operations.rotateSecrets, { give_up });
      const { is_resumed, resealed, given_up } = rotated;
      if (is_resumed) output.say("a rotation that was cut off is ended: its key is the new one");
      if (given_up > 0) {
        output.say(`${count(given_up)} that no key opens were deleted: set them anew`);
      }
      output.say("backups from before hold secrets that only the old key opens");
      output.print(rotated, `${count(resealed)} sealed again\n`);
      return 0;
    },
  },
  {
    name: "resume",
    isUnsuggested: true,
    help: "End the pause of a restored installation, and say what starts",
    example: "wadi resume",
    async run(input, output) {
      const resumption = await call(input, operations.resume, {});
      output.print(resumption, drawResumption(resumption));
      return 0;
    },
  },
  {
    name: "sweep",
    flags: { now: { help: "delete rows older than `[retention]` now" } },
    help: "Show the last deletion of old rows, or delete them now",
    example: "wadi sweep --now",
    async run(input, output) {
      if (hasFlag(input, "now")) {
        const swept = await call(input, operations.sweep, {});
        return printTable(output, swept, ["what", "rows"]);
      }
      const status = await call(input, operations.readSweep, {});
      if (status.is_clock_doubtful) {
        output.say(
          "the clock is over 7 days ahead of what was written last: a server deletes nothing " +
            "before it has run for 24 hours; where the clock is right, `wadi sweep --now` " +
            "deletes at once",
        );
      }
      return printRow(output, status);
    },
  },
];
