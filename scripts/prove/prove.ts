// Runs the long fault proofs in turn and prints a table; exit code 1 when a figure is missed.
import { parseArgs } from "node:util";
import { drawTable } from "../bench/measure.ts";
import { autostart } from "./autostart.ts";
import { backup } from "./backup.ts";
import { budgets } from "./budgets.ts";
import { calls } from "./calls.ts";
import { clocks } from "./clocks.ts";
import { crash } from "./crash.ts";
import { desync } from "./desync.ts";
import { egress } from "./egress.ts";
import { events } from "./events.ts";
import { failover } from "./failover.ts";
import { killKeys } from "./kill-keys.ts";
import { memoryChat } from "./memory-chat.ts";
import { outages } from "./outages.ts";
import { outside } from "./outside.ts";
import { processes } from "./processes.ts";
import type { Finding, Proof } from "./proof.ts";
import { requestLog } from "./request-log.ts";
import { requests } from "./requests.ts";
import { runs } from "./runs.ts";
import { takeover } from "./takeover.ts";
import { versions } from "./versions.ts";

const proofs: readonly Proof[] = [
  backup,
  budgets,
  calls,
  clocks,
  crash,
  desync,
  egress,
  events,
  failover,
  killKeys,
  requestLog,
  requests,
  memoryChat,
  outages,
  outside,
  processes,
  runs,
  autostart,
  takeover,
  versions,
];

const { values: flags, positionals } = parseArgs({
  options: { long: { type: "boolean", default: false } },
  allowPositionals: true,
});
const unknown = positionals.find((name) => !proofs.some((proof) => proof.name === name));
if (unknown !== undefined) {
  console.error(`usage: bun run prove [${proofs.map(({ name }) => name).join(" | ")}]… [--long]`);
  process.exit(2);
}

/** A proof that broke off has proved nothing. */
const runProof = async (proof: Proof): Promise<Finding[]> => {
  try {
    return await proof.run(flags.long);
  } catch (failure) {
    console.error(failure);
    return [{ what: "ran to its end", figure: "no", bound: "yes", isMet: false }];
  }
};

let isMissed = false;
for (const proof of proofs) {
  if (positionals.length > 0 && !positionals.includes(proof.name)) continue;
  const started = performance.now();
  const findings = await runProof(proof);
  const seconds = Math.round((performance.now() - started) / 1000);
  const rows = findings.map(({ what, figure, bound, isMet }) => [
    what,
    figure,
    bound,
    isMet ? "met" : "MISSED",
  ]);
  const title = `${proof.name}: ${proof.about} (${seconds} s)`;
  console.log(`${drawTable({ title, columns: ["", "figure", "bound", ""], rows })}\n`);
  isMissed ||= findings.some(({ isMet }) => !isMet);
}
process.exit(isMissed ? 1 : 0);
