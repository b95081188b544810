// Callers of several servers, who start runs and chat while the database is away and comes back.
import { type ProcessStage, type StageServer, until } from "./process-stage.ts";
import { createFacts, type Facts, PAY } from "./process-trial.ts";

const STARTERS = 4;
const CHATTERS = 3;
const LOOK_EVERY_MS = 10;

export interface Load {
  stage: ProcessStage;
  facts: Facts;
  servers: readonly StageServer[];
  isOver: boolean;
  refused: number;
  slowest_ms: number;
  chats: number;
  sent: number;
}

export const ready = async (server: StageServer): Promise<boolean> =>
  (await server.ask("GET", "/readyz"))?.status === 200;

export const timeUntil = async (what: string, holds: () => Promise<boolean>): Promise<number> => {
  const began = performance.now();
  await until(what, holds, 60_000, LOOK_EVERY_MS);
  return performance.now() - began;
};

export const timeReady = async (servers: readonly StageServer[]): Promise<number> =>
  Math.max(...(await Promise.all(servers.map((one) => timeUntil("ready", () => ready(one))))));

const askTimed = async (load: Load, at: number, path: string, body: object, headers = {}) => {
  const began = performance.now();
  const answer = await load.servers[at % load.servers.length]!.ask("POST", path, body, headers);
  const took_ms = performance.now() - began;
  if (answer && answer.status < 300) return answer;
  load.refused += 1;
  load.slowest_ms = Math.max(load.slowest_ms, took_ms);
  return null;
};

/** Repeats a start by its key, at each server in turn, until one has accepted it. */
const start = async (load: Load): Promise<void> => {
  while (!load.isOver) {
    const n = load.sent++;
    const body = { input: { message: PAY }, metadata: { token: `start ${n}` } };
    const path = `/v1/agents/${load.stage.agents.payer}/runs`;
    for (let at = n; ; at++) {
      const headers = { "idempotency-key": `start ${n}` };
      const answer = await askTimed(load, at, path, body, headers);
      if (answer) load.facts.accepted.add(JSON.parse(answer.text).id);
      if (answer || load.isOver) break;
      await Bun.sleep(20);
    }
    await Bun.sleep(50);
  }
};

const chat = async (load: Load, at: number): Promise<void> => {
  const body = { model: "stub", messages: [{ role: "user", content: "!say Well." }] };
  while (!load.isOver) {
    if (await askTimed(load, at, "/v1/chat/completions", body)) load.chats += 1;
    await Bun.sleep(20);
  }
};

export const openLoad = (stage: ProcessStage, servers: readonly StageServer[]) => {
  const load: Load = {
    ...{ stage, servers, facts: createFacts(), isOver: false, refused: 0, slowest_ms: 0 },
    ...{ chats: 0, sent: 0 },
  };
  const crowd = [
    ...Array.from({ length: STARTERS }, () => start(load)),
    ...Array.from({ length: CHATTERS }, (_, at) => chat(load, at)),
  ];
  const end = async () => {
    load.isOver = true;
    await Promise.all(crowd);
  };
  return { load, end };
};
