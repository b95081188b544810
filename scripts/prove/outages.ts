// Restarts and freezes the PostgreSQL under several servers and their callers.
import { compile, isStale } from "../build.ts";
import { type Load, openLoad, ready, timeReady, timeUntil } from "./outage-load.ts";
import { startOwnPostgres } from "./own-postgres.ts";
import { checkProcesses } from "./process-check.ts";
import { openProcessStage, type StageServer, until } from "./process-stage.ts";
import { isQuiet } from "./process-trial.ts";
import { atLeast, atMost, type Finding, type Proof } from "./proof.ts";

const RESTARTS = 10;
const SERVERS = 3;
const BETWEEN_MS = 1_500;
/** The last outlasts the lease of every server. */
const FREEZES_MS = [3_000, 6_000, 14_000];
const READY_MS_MAX = 2_000;
const NOTICED_MS_MAX = 1_500;
const REFUSED_MS_MAX = 2_500;
const RUNS_MIN = 200;

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
      const { load, end } = openLoad(stage, servers);
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
      await end();
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
