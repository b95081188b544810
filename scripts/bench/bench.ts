// Runs benches in turn and prints their figures beside the goals of design/quality.md; misses fail nothing.
import { availableParallelism, cpus } from "node:os";
import { parseArgs } from "node:util";
import { benchBlackhole } from "./blackhole.ts";
import { benchChat } from "./chat.ts";
import { benchConsole } from "./console.ts";
import { benchFeatures } from "./features.ts";
import { benchGateway } from "./gateway.ts";
import { benchGuard } from "./guard.ts";
import { benchHook } from "./hook.ts";
import { benchIdle } from "./idle.ts";
import { benchLive } from "./live.ts";
import { drawTable, type Report, writeSpread } from "./measure.ts";
import { benchPeers } from "./peers.ts";
import { benchPostgres } from "./postgres.ts";
import { benchRecovery } from "./recovery.ts";
import { benchRuns } from "./runs.ts";
import { benchScale } from "./scale.ts";
import { buildWadi } from "./stage.ts";
import { benchStart } from "./start.ts";
import { benchSweep } from "./sweep.ts";
import { benchWebhooks } from "./webhooks.ts";

/** Takes the number of rounds and the builds to measure; bounds apply to the first build. */
const benches: Record<string, (rounds: number, programs: string[]) => Promise<Report>> = {
  start: benchStart,
  chat: benchChat,
  features: benchFeatures,
  idle: benchIdle,
  blackhole: benchBlackhole,
  gateway: benchGateway,
  runs: benchRuns,
  postgres: benchPostgres,
  scale: benchScale,
  recovery: benchRecovery,
  sweep: benchSweep,
  hook: benchHook,
  webhooks: benchWebhooks,
  live: benchLive,
  console: benchConsole,
  guard: benchGuard,
  peers: benchPeers,
};

/** Those that install nothing. */
const OWN = Object.keys(benches).filter((name) => name !== "peers");

const ROUNDS = 5;

const { values: flags, positionals } = parseArgs({
  options: {
    json: { type: "string" },
    rounds: { type: "string", default: String(ROUNDS) },
    // Several builds are measured in turn, which separates the gain of a change from noise.
    wadi: { type: "string", multiple: true },
  },
  allowPositionals: true,
});
const rounds = Number(flags.rounds);
const unknown = positionals.find((name) => !Object.hasOwn(benches, name));
if (unknown !== undefined || !Number.isInteger(rounds) || rounds < 1) {
  const names = Object.keys(benches).join(" | ");
  console.error(`usage: bun run bench [${names}]… [--rounds N] [--json FILE] [--wadi BUILD]…`);
  process.exit(2);
}

const printReport = (name: string, { tables, figures, notes }: Report) => {
  for (const table of tables) console.log(`${drawTable(table)}\n`);
  const rows = figures.map(({ what, spread, unit, goal, isMet }) => [
    what,
    `${writeSpread(spread)} ${unit}`,
    goal,
    isMet ? "met" : "missed",
  ]);
  console.log(drawTable({ title: `${name}: goals`, columns: ["", "figure", "goal", ""], rows }));
  for (const note of notes) console.log(`  ${note}`);
  console.log("");
};

const programs = flags.wadi ?? [await buildWadi()];
const reports: Record<string, Report> = {};
for (const name of positionals.length > 0 ? positionals : OWN) {
  reports[name] = await benches[name]!(rounds, programs);
  printReport(name, reports[name]);
}
if (flags.json !== undefined) {
  const machine = { cores: availableParallelism(), cpu: cpus()[0]?.model, bun: Bun.version };
  await Bun.write(flags.json, `${JSON.stringify({ machine, rounds, reports }, null, 2)}\n`);
}
process.exit(0);
