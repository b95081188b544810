// Restarts and freezes the PostgreSQL under several servers and their callers.
import { compile, isStale } from "../build.ts";
import { startOwnPostgres } from "./own-postgres.ts";
import { checkProcesses } from "./process-check.ts";
import { openProcessStage, type ProcessStage, type StageServer, until } from "./process-stage.ts";
import { createFacts, type Facts, isQuiet, PAY } from "./process-trial.ts";
import { atLeast, atMost, type Finding, type Proof } from "./proof.ts";

const RESTARTS = 10;
const SERVERS = 3;
const STARTERS = 4;
const CHATTERS = 3;
const BETWEEN_MS = 1_500;
/** The last outlasts the lease of every server. */
const FREEZES_MS = [3_000, 6_000, 14_000];
const READY_MS_MAX = 2_000;
const NOTICED_MS_MAX = 1_500;
const REFUSED_MS_MAX = 2_500;
const RUNS_MIN = 200;
const LOOK_EVERY_MS = 10;

interface Load {
  stage: ProcessStage;
  facts: Facts;
  servers: readonly StageServer[];
  isOver: boolean;
  refused: number;
  slowest_ms: number;
  chats: number;
  sent: number;
}

const ready = async (server: StageServer): Promise<boolean> =>
  (await server.ask("GET", "/readyz"))?.status === 200;

const timeUntil = async (what: string, holds: () => Promise<boolean>): Promise<number> => {
  const began = performance.now();
  await until(what, holds, 60_000, LOOK_EVERY_MS);
  return performance.now() - began;
};

const timeReady = async (servers: readonly StageServer[]): Promise<number> =>
  Math.max(...(await Promise.all(servers.map((one) => timeUntil("ready", () => ready(one))))));

const askTimed = async (load: Load, at: number, path: string, body: object, headers = {}) => {
  const began = performance.now();
  const answer = await load.servers[at % SERVERS]!.ask("POST", path, body, headers);
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

export const outages: Proof = {
  name: "outages",
  about: "PostgreSQL restarts at once and freezes under three servers: nothing is lost or doubled",
  async run() {
    if (isStale({ failPoints: true })) await compile({ failPoints: true });
    const postgres = await startOwnPostgres();
    const stage = await openProcessStage({ postgres: postgres.url });
    try {
      const servers = [stage.survivor];
      while (servers.length < SERVERS) servers.push(await stage.serve());
      const load: Load = {
        ...{ stage, servers, facts: createFacts(), isOver: false, refused: 0, slowest_ms: 0 },
        ...{ chats: 0, sent: 0 },
      };
      const crowd = [
        ...Array.from({ length: STARTERS }, () => start(load)),
        ...Array.from({ length: CHATTERS }, (_, at) => chat(load, at)),
      ];
      const back_ms: number[] = [];
      for (let n = 0; n < RESTARTS; n++) {
        await Bun.sleep(BETWEEN_MS);
        await postgres.restart();
        back_ms.push(await timeReady(servers));
      }
      const noticed_ms: number[] = [];
      const woken_ms: number[] = [];
      for (const frozen_ms of FREEZES_MS) {
        await Bun.sleep(BETWEEN_MS);
        postgres.signal("SIGSTOP");
        const thawing = Bun.sleep(frozen_ms);
        const isNot = (one: StageServer) => timeUntil("not ready", async () => !(await ready(one)));
        noticed_ms.push(...(await Promise.all(servers.map(isNot))));
        await thawing;
        postgres.signal("SIGCONT");
        woken_ms.push(await timeReady(servers));
      }
      load.isOver = true;
      await Promise.all(crowd);
      await until("all is done", () => isQuiet(stage));
      const found = await checkProcesses(stage, load.facts);
      const laws = Object.entries(found).map(([law, times]) => atMost(law, times, 0));
      return [...listTimes(load, back_ms, noticed_ms, woken_ms), ...laws];
    } finally {
      await stage.close();
      await postgres.stop();
    }
  },
};

const listTimes = (
  { facts, chats, refused, slowest_ms }: Load,
  back_ms: readonly number[],
  noticed_ms: readonly number[],
  woken_ms: readonly number[],
): Finding[] => [
  atLeast("restarts at once", back_ms.length, RESTARTS),
  atMost("restart: until all are ready, slowest", Math.max(...back_ms), READY_MS_MAX, " ms"),
  atMost("freeze: until a server is not ready", Math.max(...noticed_ms), NOTICED_MS_MAX, " ms"),
  atMost("wake: until all are ready, slowest", Math.max(...woken_ms), READY_MS_MAX, " ms"),
  atLeast("runs accepted", facts.accepted.size, RUNS_MIN),
  atLeast("chats answered", chats, RUNS_MIN),
  atLeast("requests refused", refused, 1),
  atMost("slowest refusal", slowest_ms, REFUSED_MS_MAX, " ms"),
];
