// One trial: two of several servers meet a fail point; one dies there, one freezes and is woken.
import {
  type Answer,
  createTrigger,
  isFrozen,
  isGone,
  type ProcessStage,
  type StageServer,
  TRIGGERS,
  until,
} from "./process-stage.ts";

const RUNS = 12;
const DAY_MS = 86_400_000;
const RETRY_MS = 50;
/** The counters may be undecided for a minute after a death. */
const ANSWER_MS_MAX = 90_000;
/** Writes that only a process beside a dead one makes. */
const AFTER_A_DEATH = ["endSilent", "reclaim", "recover", "recoverEpoch"];

const round = (n: number) => `!tool pay {"n":${n}}\n!tool keyed {"n":${n}}\n!next`;
export const PAY = ["Pay.\n!delay 20ms", round(1), round(2), "!say Done."].join("\n");
const ASK = ['Ask.\n!tool pay {"n":1}', "!next\n!say Done."].join("\n");
const ENDLESS = "Wait.\n!delay 10m\n!say At last.";
const CHAT = { model: "stub", messages: [{ role: "user", content: "!say Well." }] };

/** What came of it. */
export interface Trial {
  point: string;
  died: boolean;
  froze: boolean;
  runs: number;
  /** Time from the second fault until nothing is under way. */
  tookOver_ms: number;
}

/** Of all trials on one stage. */
export interface Facts {
  /** Deliveries that may come once more: a process that died or froze held them. */
  mayDouble: Set<string>;
  /** Ids of accepted runs. */
  accepted: Set<string>;
  cancelled: Set<string>;
  /** Calls and deliveries that a woken process sent again. */
  late: string[];
  faults: string[];
}

export const createFacts = (): Facts => ({
  ...{ mayDouble: new Set(), accepted: new Set(), cancelled: new Set(), late: [], faults: [] },
});

/** Nothing is under way, and that many instants have fired. */
export const isQuiet = async ({ count }: ProcessStage, fires = 0): Promise<boolean> =>
  (await count("fires")) >= fires &&
  (await count("runs WHERE finished_at IS NULL")) === 0 &&
  (await count("outbox WHERE is_pending = 1")) === 0 &&
  (await count("deliveries WHERE status = 'pending'")) === 0;

export const tryPoint = async (
  stage: ProcessStage,
  facts: Facts,
  point: string,
): Promise<Trial> => {
  const { count } = stage;
  const before = { runs: await count("runs"), fires: await count("fires") };
  const isDone = () => isQuiet(stage, before.fires + TRIGGERS);
  const [, method = ""] = /\.(\w+):/.exec(point) ?? [];
  const bait = AFTER_A_DEATH.includes(method) ? await stage.serve() : null;
  const dying = await openVictim(stage, facts, point);
  const freezing = await openVictim(stage, facts, `${point}=stop`);
  const victims = [dying, freezing];
  const work = startWork(stage, facts, victims, point);
  if (bait) await killBusy(stage, facts, bait);
  const deciding = decideAll(stage, victims);
  await work;
  const isMet = () => victims.every((victim) => victim.isMet());
  await until(`${point} is met, or all is done`, async () => isMet() || (await isDone()));
  const metAt = performance.now();
  await until(`${point}: all is done`, isDone);
  const tookOver_ms = performance.now() - metAt;
  const [died, froze] = victims.map((victim) => victim.isMet());
  if (froze) await wake(stage, facts, victims, point);
  await deciding.stop();
  for (const victim of victims) await end(facts, victim, point, victim === dying);
  return {
    ...{ point, tookOver_ms },
    died: died!,
    froze: froze!,
    runs: (await count("runs")) - before.runs,
  };
};

interface Victim extends StageServer {
  isMet(): boolean;
}

const openVictim = async (stage: ProcessStage, facts: Facts, point: string): Promise<Victim> => {
  const server = await stage.serve(point);
  const { child } = server;
  let isMet = false;
  void (async () => {
    while (!(await isFrozen(child)) && !(await isGone(child))) await Bun.sleep(10);
    isMet = true;
    await noteHeld(stage, facts, server).catch(() => {});
  })();
  return { ...server, isMet: () => isMet };
};

const epochsOf = ({ child }: StageServer) =>
  `(SELECT epoch FROM processes WHERE pid = ${child.pid})`;

const noteHeld = async ({ sql }: ProcessStage, facts: Facts, server: StageServer) => {
  const held = await sql.unsafe(
    `SELECT event_id FROM deliveries WHERE epoch IN ${epochsOf(server)}`,
  );
  for (const { event_id } of held) facts.mayDouble.add(event_id);
};

const killBusy = async (stage: ProcessStage, facts: Facts, bait: StageServer) => {
  const isBusy = async () => (await stage.count(`runs WHERE epoch IN ${epochsOf(bait)}`)) > 0;
  // The others may have taken all.
  const isDecided = async () => (await isBusy()) || (await isQuiet(stage));
  await until("a process holds a run", isDecided);
  bait.child.kill();
  await until("it is gone", () => isGone(bait.child));
  await noteHeld(stage, facts, bait);
};

/** Asks the first of the servers that answers with what is wanted; each may die meanwhile. */
const askAny = async (
  servers: readonly StageServer[],
  path: string,
  body: object,
  headers: object = {},
): Promise<Answer> => {
  let last: Answer | undefined;
  const end = performance.now() + ANSWER_MS_MAX;
  while (performance.now() < end) {
    for (const server of servers) {
      const answer = await server.ask("POST", path, body, headers);
      last = answer ?? last;
      // Counters may be undecided after a death, and rows locked by a frozen process.
      if (answer && ![429, 500, 503].includes(answer.status)) return answer;
    }
    await Bun.sleep(RETRY_MS);
  }
  throw new Error(`${path}: ${last?.status} ${last?.text}`);
};

const startRun = async (
  { survivor }: ProcessStage,
  facts: Facts,
  order: { agent: string; message: string; token: string; first?: StageServer },
): Promise<string> => {
  const { agent, message, token, first = survivor } = order;
  const body = { input: { message }, metadata: { token } };
  const path = `/v1/agents/${agent}/runs`;
  const { status, text } = await askAny([first, survivor], path, body, {
    "idempotency-key": token,
  });
  if (status >= 300) throw new Error(`a start: ${status} ${text}`);
  const { id } = JSON.parse(text) as { id: string };
  facts.accepted.add(id);
  return id;
};

const startWork = async (
  stage: ProcessStage,
  facts: Facts,
  victims: readonly Victim[],
  point: string,
): Promise<void> => {
  const { agents, survivor } = stage;
  const start = (agent: string, message: string, n: number, first?: StageServer) =>
    startRun(stage, facts, { agent, message, token: `${point} ${n}`, ...(first && { first }) });
  const isOfVictim = (n: number) => n % 3 === 0;
  await makeDue(stage, point);
  await Promise.all([
    ...Array.from({ length: RUNS }, (_, n) =>
      start(agents.payer, PAY, n, isOfVictim(n) ? victims[n % 2] : survivor),
    ),
    ...[RUNS, RUNS + 1].map((n) => start(agents.asker, ASK, n)),
    ...victims.map((victim) => askAny([victim, survivor], "/v1/chat/completions", CHAT)),
    (async () => {
      const id = await start(agents.payer, ENDLESS, RUNS + 2);
      await askAny([victims[1]!, survivor], `/v1/runs/${id}/cancel`, {});
      facts.cancelled.add(id);
    })(),
  ]);
};

/** The last midnight of new triggers is due, for all servers at once. */
const makeDue = async ({ sql, survivor, agents }: ProcessStage, point: string): Promise<void> => {
  const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const make = (n: number) => createTrigger(survivor, agents.payer, `${point} ${n}`);
  for (let n = 0; n < TRIGGERS; n++) {
    const id = await make(n);
    await sql`UPDATE triggers SET next_fire_at = ${midnight}, updated_at = 0 WHERE id = ${id}`;
  }
  // Wakes the schedulers.
  await make(TRIGGERS);
};

/** Approves all that waits, at each server in turn. */
const decideAll = (
  { survivor, approver }: ProcessStage,
  victims: readonly StageServer[],
): { stop(): Promise<void> } => {
  let isOver = false;
  let n = 0;
  const loop = async () => {
    while (!isOver) {
      const listed = await survivor.ask("GET", "/v1/approvals?status=pending", undefined, approver);
      const { data = [] } = JSON.parse(listed?.text || "{}") as { data?: { id: string }[] };
      for (const { id } of data) {
        const first = victims[n++ % victims.length]!;
        await askAny([first, survivor], `/v1/approvals/${id}/approve`, {}, approver);
      }
      await Bun.sleep(RETRY_MS);
    }
  };
  const over = loop();
  return {
    async stop() {
      isOver = true;
      await over;
    },
  };
};

/** Wakes the frozen server beyond its lease: it sends nothing again, and works on. */
const wake = async (
  stage: ProcessStage,
  facts: Facts,
  victims: readonly Victim[],
  point: string,
): Promise<void> => {
  const { count, calls, hooks, agents } = stage;
  const frozen = victims[1]!;
  const alive = 1 + victims.filter((victim) => !victim.isMet()).length;
  const isDead = async () => (await count("processes WHERE ended_at IS NULL")) === alive;
  await until(`${point}: the frozen one is taken for dead`, isDead);
  const before = { calls: calls.arrivals.length, hooks: hooks.arrivals.length };
  frozen.child.wake();
  await until("it is awake", async () => !(await isFrozen(frozen.child)));
  const order = { agent: agents.payer, message: ASK, token: `${point} again`, first: frozen };
  const again = await startRun(stage, facts, order);
  const isOver = async () =>
    (await count(`runs WHERE id = '${again}' AND finished_at IS NOT NULL`)) === 1 &&
    (await isQuiet(stage));
  await until(`${point}: a run after the waking`, isOver);
  // A start whose transaction was ended meanwhile ends with it: its supervisor repeats it. Any
  // other end is a fault, which its exit code and log explain.
  const isReady = async () =>
    (await frozen.ask("GET", "/readyz"))?.status === 200 || (await isGone(frozen.child));
  await until(`${point}: the woken one is ready`, isReady);
  const own = await stage.sql`SELECT data::json ->> 'tool_call_id' AS id FROM steps
    WHERE run_id = ${again} AND kind = 'tool_call'`;
  const ids = new Set(own.map(({ id }: { id: string }) => id));
  const sent = new Set(hooks.arrivals.slice(0, before.hooks).map(({ path, id }) => path + id));
  const late = [
    ...calls.arrivals.slice(before.calls).filter(({ key }) => !ids.has(key)),
    ...hooks.arrivals.slice(before.hooks).filter(({ path, id }) => sent.has(path + id)),
  ];
  for (const { path, id } of late) facts.late.push(`${point}: ${path} ${id}`);
};

/** Ends a server that lives; it may meet its point only now. */
const end = async (
  facts: Facts,
  { child, ended, hasStarted }: Victim,
  point: string,
  dies: boolean,
) => {
  child.terminate();
  const isAway = async () => (await isGone(child)) || (await isFrozen(child));
  const isHung = await until(`${point}: it ends`, isAway).then(
    () => false,
    () => true,
  );
  if (isHung) child.kill();
  child.wake();
  const { code, signal, errors } = await ended;
  const mayFail = (dies && signal === "SIGKILL") || !hasStarted;
  const isRight = !isHung && (code === 0 || mayFail);
  if (!isRight) facts.faults.push(`${point}: ended with ${code ?? signal}: ${errors.slice(-300)}`);
};
