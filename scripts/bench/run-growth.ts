// Compares the same requests on a database with a thousand runs and with a million, of ten steps.

import type { Ask, Measured } from "./load.ts";
import { fillRuns } from "./run-filler.ts";
import {
  holdOnlySlot,
  look,
  makeRunFixture,
  type RunServer,
  serveRuns,
  writeStart,
} from "./run-fixture.ts";
import type { Load } from "./stage.ts";

export const SIZES = [1_000, 1_000_000] as const;
const CALLERS = 4;
const WARM_MS = 500;
const MEASURE_MS = 2_000;

interface Growing {
  size: number;
  server: RunServer;
  asks: Record<string, GrowthAsk>;
}

interface GrowthAsk extends Ask {
  status: number;
  isStream?: boolean;
}

/** For each request and each size its rounds. */
export type Growth = Record<string, Record<number, Measured[]>>;

export const measureGrowth = async (
  program: string,
  rounds: number,
  load: Load,
): Promise<Growth> => {
  const grown: Growing[] = [];
  for (const size of SIZES) grown.push(await grow(program, size));
  const growth: Growth = {};
  for (const name of Object.keys(grown[0]!.asks)) {
    process.stderr.write(`runs: growth, ${name}\n`);
    const sizes: Record<number, Measured[]> = {};
    growth[name] = sizes;
    // One round more than counts.
    for (let round = -1; round < rounds; round++) {
      for (const { size, server, asks } of grown) {
        const { status, isStream = false, ...ask } = asks[name]!;
        const measured = await load.run({
          ...{ port: server.port, key: server.key, status, ask, isStream, stream: null },
          ...{ callers: CALLERS, warm_ms: WARM_MS, measure_ms: MEASURE_MS },
          pids: { candidate: server.pid },
        });
        if (round >= 0) sizes[size] = [...(sizes[size] ?? []), measured];
      }
    }
  }
  for (const { server } of grown) await server.stop();
  return growth;
};

const grow = async (program: string, size: number): Promise<Growing> => {
  process.stderr.write(`runs: filling a database with ${size.toLocaleString("en")} runs\n`);
  const fixture = await makeRunFixture(program, { concurrent_runs: 1 });
  const [account] = look<{ id: string }>(fixture, "SELECT id FROM accounts");
  const { agents, run_id } = fillRuns({
    ...{ file: fixture.file, account_id: account!.id, runs: size, steps_every: 1 },
  });
  const server = await serveRuns(fixture);
  // Started runs wait, and do not disturb the measurement.
  const { agent } = await holdOnlySlot(server);
  const [middle] = look<{ id: string }>(
    fixture,
    `SELECT id FROM runs WHERE account_id = ? AND number = ${Math.floor(size / 2)}`,
    account!.id,
  );
  const page = await (await server.ask("GET", "/v1/runs?limit=50")).json();
  const { next_before } = page as { next_before: string };
  const get = (path: string, piece: string, pieces_min = 1): GrowthAsk => ({
    ...{ method: "GET", path, bodies: [""], piece, pieces_min, status: 200 },
  });
  return {
    size,
    server,
    asks: {
      "list, newest": get("/v1/runs?limit=50", '"recoveries":', 50),
      "list, next page": get(`/v1/runs?limit=50&before=${next_before}`, '"recoveries":', 50),
      "list of one agent": get(`/v1/agents/${agents[0]}/runs?limit=50`, '"recoveries":', 50),
      "list, failed": get("/v1/runs?limit=20&status=failed", '"recoveries":', 20),
      "one run": get(`/v1/runs/${middle!.id}`, '"recoveries":'),
      steps: get(`/v1/runs/${run_id}/steps`, '"kind":', 10),
      events: { ...get(`/v1/runs/${run_id}/events`, '"kind":', 10), isStream: true },
      usage: get("/v1/agents/usage", '"unpriced_runs":'),
      start: { ...writeStart(`/v1/agents/${agent}/runs`), status: 202 },
    },
  };
};
