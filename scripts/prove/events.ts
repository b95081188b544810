// Repeatedly kills a server during fires and deliveries, and moves its clock. Each fire must happen
// once, and every listener must get every event.
import { look, waitUntil } from "../bench/run-fixture.ts";
import { buildWadi } from "../bench/stage.ts";
import { repeat } from "./crowd.ts";
import { checkEvents, type EventBreaches, LAWS, listMiscounted } from "./event-check.ts";
import {
  callOnce,
  changeEndpoints,
  changeMood,
  decideOnce,
  type EventCrowd,
  recover,
  sendOnce,
} from "./event-crowd.ts";
import { dieAtStart, makeEventFixture, serveAt } from "./event-fixture.ts";
import { atLeast, atMost, type Finding, type Proof } from "./proof.ts";
import { checkRuns } from "./run-check.ts";

const KILLS = 200;
const KILLS_LONG = 1_000;
const LIFE_MS_MAX = 700;
/** For what a kill waits to come directly after it. */
const WAIT_MS_MAX = 700;
const START_MS_MAX = 120;
const SENDERS = 3;
const CALLERS = 2;
const END_MS_MAX = 180_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Longer than any delivery can have to wait for its next attempt. */
const LEAP_MS = 48 * HOUR_MS;
/** Offset of the first instant from the start of a server, later or earlier. */
const LEAD_MS_MAX = 600;
const SHOWN_MAX = 5;

interface Run extends EventCrowd {
  /** Clock of the last server at its death. */
  died_at: number;
  /** Kills directly after an answer to a request, or of an endpoint. */
  after_answers: number;
  miscounted: number;
  leaps: number;
}

export const events: Proof = {
  name: "events",
  about:
    "kill -9 of a server around fires and deliveries: no fire twice, none lost, every event delivered",
  async run(isLong) {
    const run = await open();
    const crowd = [
      ...Array.from({ length: SENDERS }, () => repeat<EventCrowd>(run, sendOnce)),
      ...Array.from({ length: CALLERS }, () => repeat<EventCrowd>(run, callOnce)),
      ...[decideOnce, changeMood, changeEndpoints].map((act) => repeat<EventCrowd>(run, act)),
    ];
    const kills = isLong ? KILLS_LONG : KILLS;
    for (let kill = 0; kill < kills; kill++) await dieOnce(run);
    await waitUntilIdle(run);
    run.isOver = true;
    await Promise.all(crowd);
    const server = run.server!;
    const ended_at = server.now();
    await server.stop();
    run.fixture.receiver.close();
    return listFindings(run, kills, ended_at);
  },
};

const open = async (): Promise<Run> => {
  const program = await buildWadi();
  const wall_ms = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS;
  const eventFixture = await makeEventFixture(program, wall_ms);
  const server = await serveAt(eventFixture, wall_ms + MINUTE_MS);
  return {
    ...{
      fixture: eventFixture,
      server,
      isOver: false,
      isClosing: false,
      underway: 0,
      hooks: new Map(),
    },
    ...{ fires: [], crowded: 0, runs: 0, decided: 0, later: 0, kept: 0, sent: 0, onAnswer() {} },
    ...{ died_at: wall_ms, after_answers: 0, miscounted: 0, leaps: 0 },
  };
};

/** Lets the server live for a moment, and starts the next one. */
const dieOnce = async (run: Run): Promise<void> => {
  await waitForDeath(run);
  const dying = run.server!;
  run.server = null;
  run.died_at = dying.now();
  await dying.kill();
  run.miscounted += listMiscounted(run.fixture.file).length;
  const wall_ms = planClock(run);
  if (Math.random() < 0.1) await dieAtStart(run.fixture, wall_ms, Math.random() * START_MS_MAX);
  run.server = await serveAt(run.fixture, wall_ms);
};

/** At some moment, or directly after a request was answered, or an endpoint has answered. */
const waitForDeath = async (run: Run): Promise<void> => {
  const drawn = Math.random();
  await Bun.sleep(Math.random() * LIFE_MS_MAX);
  if (drawn < 0.4) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const one = drawn < 0.7 ? run : run.fixture.receiver;
  one.onAnswer = () => {
    run.after_answers++;
    one.onAnswer = () => {};
    resolve();
  };
  await Promise.race([promise, Bun.sleep(WAIT_MS_MAX)]);
  one.onAnswer = () => {};
};

/** First clock of the next server: usually a moment before the next minute. */
const planClock = (run: Run): number => {
  const { died_at } = run;
  const drawn = Math.random();
  if (drawn < 0.1) return died_at + 20;
  const next = Math.ceil(died_at / MINUTE_MS) * MINUTE_MS;
  const lead_ms = Math.random() * LEAD_MS_MAX;
  if (drawn < 0.8) return next - lead_ms;
  run.leaps++;
  const minutes = (most: number) => Math.ceil(Math.random() * most) * MINUTE_MS;
  if (drawn < 0.94) return next + minutes(10) - lead_ms;
  if (drawn < 0.97) return next + HOUR_MS + minutes(60) + lead_ms;
  // The clock never moves back by as much as it has advanced.
  return Math.max(next - minutes(drawn < 0.99 ? 5 : 90) - lead_ms, run.fixture.begun_at);
};

/** No new work starts, all endpoints are healthy, and waiting deliveries are due. */
const waitUntilIdle = async (run: Run): Promise<void> => {
  const { fixture: eventFixture } = run;
  run.isClosing = true;
  const { moods } = eventFixture.receiver;
  // An endpoint that answers 410 is healthy again once it has been disabled.
  for (const [name, mood] of moods) if (mood !== "gone") moods.delete(name);
  // A server that does not become idle is a finding, and the other checks continue.
  await waitUntil("all has been sent", () => run.underway === 0, END_MS_MAX).catch(() => {});
  moods.clear();
  const resting = run.server!;
  run.server = null;
  await resting.stop();
  run.server = await serveAt(eventFixture, resting.now() + LEAP_MS);
  await waitUntil("all is delivered", () => isIdle(run), END_MS_MAX).catch(() => {});
  for (const one of eventFixture.subscriptions) await recover(run, one);
  await waitUntil("all is delivered", () => isIdle(run), END_MS_MAX).catch(() => {});
};

const REST = `SELECT (SELECT COUNT(*) FROM runs WHERE finished_at IS NULL)
  + (SELECT COUNT(*) FROM outbox WHERE is_pending = 1)
  + (SELECT SUM(pending_deliveries) FROM webhook_endpoints) AS waiting,
  (SELECT MIN(next_fire_at) FROM triggers) AS next_fire_at`;

const isIdle = ({ fixture: eventFixture, server }: Run): boolean => {
  const [{ waiting, next_fire_at }] = look<Record<"waiting" | "next_fire_at", number>>(
    eventFixture,
    REST,
  ) as [Record<"waiting" | "next_fire_at", number>];
  return waiting === 0 && next_fire_at > server!.now();
};

const listFindings = (run: Run, kills: number, ended_at: number): Finding[] => {
  const { fixture: eventFixture, hooks, fires } = run;
  const { receiver, file, subscriptions } = eventFixture;
  const arrivals = receiver.list();
  const unsigned = receiver.listUnsigned();
  const answers = { hooks, fires };
  const eventBreaches = checkEvents({ file, arrivals, unsigned, answers, subscriptions, ended_at });
  explain(eventBreaches);
  const runBreaches = checkRuns(file);
  const count = (query: string) =>
    look<{ n: number }>(eventFixture, `SELECT COUNT(*) AS n ${query}`)[0]!.n;
  const countFires = (where: string) => count(`FROM fires WHERE ${where}`);
  const again = arrivals.filter(({ times }) => times > 1).length;
  const missed = look<{ n: number }>(eventFixture, "SELECT SUM(missed_count) AS n FROM fires")[0]!
    .n;
  return [
    atLeast("servers killed under load", kills, KILLS),
    atLeast("of these directly after an answer", run.after_answers, kills / 4),
    atLeast("leaps of the clock", run.leaps, kills / 10),
    atLeast("fires by the clock", countFires("source = 'cron'"), kills * 3),
    atLeast("of these late, and caught up", countFires(LATE), kills / 20),
    atLeast("of these too late", countFires("outcome = 'missed'"), kills / 20),
    atLeast("instants that were missed", missed, kills),
    atLeast("fires by signed requests", countFires("source = 'webhook'"), kills * 3),
    atLeast("requests sent by several at once", run.crowded, kills / 4),
    atLeast("fires by hand that were answered", fires.length, kills),
    atLeast("fires that were skipped", countFires("outcome = 'skipped'"), kills / 4),
    atLeast("runs", count("FROM runs"), kills * 5),
    atLeast("decisions of people", run.decided, kills / 4),
    atLeast("endpoints that came later", run.later, kills / 10),
    atLeast("events that came to an endpoint", arrivals.length, kills * 20),
    atLeast("deliveries that took several attempts", count(RETRIED), kills / 2),
    atLeast("times that an endpoint did not take one", receiver.refused(), kills),
    atLeast("events that came more than once", again, kills / 4),
    ...Object.entries(LAWS).map(([law, what]) =>
      atMost(what, eventBreaches[law as keyof EventBreaches].length, 0),
    ),
    atMost("requests that were never answered", run.underway, 0),
    atMost("counters that were wrong after a kill", run.miscounted, 0),
    atMost("runs that did not end", runBreaches.unended, 0),
    atMost("ends of runs not reported exactly once", runBreaches.unreported, 0),
    atMost("accounts with wrong counts", runBreaches.wrong_counts, 0),
  ];
};

const LATE = "source = 'cron' AND outcome <> 'missed' AND created_at - scheduled_at > 60000";
const RETRIED = "FROM deliveries WHERE attempt_count > 1";

/** The first breach of each rule. */
const explain = (eventBreaches: EventBreaches): void => {
  for (const [law, broken] of Object.entries(eventBreaches)) {
    for (const one of broken.slice(0, SHOWN_MAX)) console.error(`${law}: ${one}`);
  }
};
