// Ratios that a later change must not lose: measured beside bare Bun and the floor in one run, and
// compared with those that are kept.
import { join } from "node:path";
import type { Outcome } from "./chat.ts";
import { type Figure, type Report, type Spread, spreadOf } from "./measure.ts";
import { listOwnEngines, measureEngines, measureGateways, type Whole } from "./peers.ts";

/** Share of a ratio that may be lost. */
const LOSS_MAX = 0.1;
const KEPT = join(import.meta.dir, "baseline.json");

type Ratios = Record<string, number>;

export const benchGuard = async (rounds: number, [program]: string[]): Promise<Report> => {
  const notes: string[] = [];
  const scenes = [
    { name: "JSON", callers: 32, stream: null },
    { name: "50 tokens/s", callers: 200, stream: { chunks: 100, pace_ms: 20 } },
  ];
  const programs = [program!];
  const outcomes = await measureGateways({ rounds, programs, notes, scenes, peers: {} });
  const engines = await measureEngines({ rounds, notes, starts: listOwnEngines(program!) });
  const ratios = readRatios(outcomes, engines);
  const kept: Ratios = await Bun.file(KEPT).json();
  if (process.env.UPDATE_BASELINE) await Bun.write(KEPT, `${writeBaseline(ratios)}\n`);
  return {
    tables: [],
    figures: Object.entries(ratios).map(([what, spread]) => compare(what, spread, kept[what])),
    notes: [...notes, "UPDATE_BASELINE=1 keeps these ratios as those to compare with."],
    data: { outcomes, engines },
  };
};

const compare = (what: string, spread: Spread, kept = Number.NaN): Figure => {
  const bound = kept * (1 + LOSS_MAX);
  return { what, spread, unit: "", goal: `≤ ${bound.toFixed(2)}`, isMet: spread.median <= bound };
};

const readRatios = (
  outcomes: readonly Outcome[],
  engines: Record<string, Whole[]>,
): Record<string, Spread> => {
  const ratios: Record<string, Spread> = {};
  for (const { scene, rounds } of outcomes) {
    const unit = scene.stream ? "pieces" : "replies";
    const [bare, own] = [rounds["bare Bun"]!, rounds.wadi!].map((all) =>
      all.map((one) => (one.complaint ? Number.NaN : one.cpu_ms.candidate! / one[unit])),
    );
    const name = `${scene.name}, ${scene.callers} callers: CPU of Wadi to bare Bun`;
    ratios[name] = spreadOf(own!.map((value, at) => value / bare![at]!));
  }
  const { wadi = [], "floor (bun:sqlite)": floor = [] } = engines;
  ratios["whole runs: the floor to Wadi"] = spreadOf(
    wadi.map((one, at) => floor[at]!.runs_per_second / one.runs_per_second),
  );
  return ratios;
};

const writeBaseline = (ratios: Record<string, Spread>): string => {
  const entries = Object.entries(ratios).map(([what, { median }]) => [
    what,
    Number(median.toFixed(3)),
  ]);
  return JSON.stringify(Object.fromEntries(entries), null, 2);
};
