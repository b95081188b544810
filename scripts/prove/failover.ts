// Fails PostgreSQL over to a standby, by patroni, under several servers and their callers.
import { compile, isStale } from "../build.ts";
import { type Load, openLoad, ready, timeReady, timeUntil } from "./outage-load.ts";
import { listMissing, type OwnPatroni, startOwnPatroni } from "./own-patroni.ts";
import { checkProcesses } from "./process-check.ts";
import { openProcessStage, type StageServer, until } from "./process-stage.ts";
import { isQuiet } from "./process-trial.ts";
import { atLeast, atMost, type Finding, measured, type Proof } from "./proof.ts";

const SERVERS = 2;
/** Kills the leader's PostgreSQL, or its patroni too, or freezes both until there is another. */
const FAULTS = ["postgres", "member", "frozen", "postgres", "member", "frozen"] as const;
const FAULTS_LONG = 3;
const BETWEEN_MS = 2_000;
const BACK_MS_MAX = 2_000;
const NOTICED_MS_MAX = 3_000;
const REFUSED_MS_MAX = 2_500;
const SAFE_MS_MAX = 90_000;
/** Runs that were accepted at once after an outage wait for each other. */
const DONE_MS_MAX = 300_000;
const RUNS_MIN = 200;

interface Times {
  noticed_ms: number[];
  away_ms: number[];
  back_ms: number[];
}

export const failover: Proof = {
  name: "failover",
  about: "patroni replaces the PostgreSQL of two servers: nothing is lost or doubled",
  async run(isLong) {
    const missing = listMissing();
    if (missing.length > 0) {
      console.log(`failover: skipped, since this machine has no ${missing.join(", ")}`);
      return [];
    }
    if (isStale({ failPoints: true })) await compile({ failPoints: true });
    const patroni = await startOwnPatroni();
    const stage = await openProcessStage({ postgres: patroni.url });
    try {
      const servers = [stage.survivor];
      while (servers.length < SERVERS) servers.push(await stage.serve());
      const { load, end } = openLoad(stage, servers);
      const times: Times = { noticed_ms: [], away_ms: [], back_ms: [] };
      const rounds = Array.from({ length: isLong ? FAULTS_LONG : 1 }, () => FAULTS).flat();
      for (const fault of rounds) await failOver(patroni, servers, fault, times);
      await end();
      await until("all is done", () => isQuiet(stage), DONE_MS_MAX);
      const found = await checkProcesses(stage, load.facts);
      const laws = Object.entries(found).map(([law, broken]) => atMost(law, broken, 0));
      return [...listTimes(load, times, rounds.length), ...laws];
    } finally {
      await stage.close();
      await patroni.stop();
    }
  },
};

const failOver = async (
  patroni: OwnPatroni,
  servers: readonly StageServer[],
  fault: (typeof FAULTS)[number],
  { noticed_ms, away_ms, back_ms }: Times,
): Promise<void> => {
  // Without a standby that has all, nothing is promised.
  await until("there is a standby", patroni.isSafe, SAFE_MS_MAX);
  await Bun.sleep(BETWEEN_MS);
  const leader = await patroni.findLeader();
  const began = performance.now();
  if (fault === "frozen") leader.signal("SIGSTOP");
  else leader.kill(fault === "member");
  const isNot = (one: StageServer) => timeUntil("not ready", async () => !(await ready(one)));
  noticed_ms.push(...(await Promise.all(servers.map(isNot))));
  await timeUntil("the next leader", patroni.takesWrites);
  away_ms.push(performance.now() - began);
  back_ms.push(await timeReady(servers));
  if (fault === "member") leader.start();
  if (fault === "frozen") leader.signal("SIGCONT");
};

const listTimes = (
  { facts, chats, refused, slowest_ms }: Load,
  { noticed_ms, away_ms, back_ms }: Times,
  rounds: number,
): Finding[] => [
  atLeast("failovers", back_ms.length, rounds),
  atMost("until a server is not ready, slowest", Math.max(...noticed_ms), NOTICED_MS_MAX, " ms"),
  measured("until there is a next leader, slowest", Math.max(...away_ms), " ms"),
  atMost("from then until all are ready, slowest", Math.max(...back_ms), BACK_MS_MAX, " ms"),
  atLeast("runs accepted", facts.accepted.size, RUNS_MIN),
  atLeast("chats answered", chats, RUNS_MIN),
  atLeast("requests refused", refused, 1),
  atMost("slowest refusal", slowest_ms, REFUSED_MS_MAX, " ms"),
];
