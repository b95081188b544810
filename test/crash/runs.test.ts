// The compiled program, killed at every write of its runs: every accepted run ends once.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyData } from "../../scripts/prove/data-copy.ts";
import { checkRuns } from "../../scripts/prove/run-check.ts";
import { runStore } from "../../src/agents/runs/store/index.ts";
import { processStore } from "../../src/cluster/store.ts";
import { type Program, startProgram } from "../support/crash.ts";
import { dumpDatabase } from "../support/database-dump.ts";
import { chooseCases } from "../support/rounds.ts";

const root = mkdtempSync(join(tmpdir(), "wadi-crash-runs-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const CALL = '!tool calculator {"expression":"2 + 3"}';
const ROUNDS = ["Work.", CALL, CALL, "!next", CALL, "!next", "!say Done."].join("\n");
/** Long enough that a cancel or a stop interrupts it, on a busy machine too. */
const SLOW = ["Work.", "!delay 3s", CALL, "!next", "!delay 50ms", "!say Done."].join("\n");
const FAILING = "Work.\n!error upstream_error";

/** Steps that lead a server to its fail point; the first are started in each case. */
interface Scene {
  starts: readonly { agent: "free" | "asking"; message: string; hasImages?: boolean }[];
  act?(server: Server, ids: readonly (string | undefined)[]): Promise<unknown>;
  /** A crash that has been before. */
  isSecond?: boolean;
  /** The later passes at which it is killed, too. */
  passes?: readonly number[];
}
const free = (message: string) => ({ agent: "free", message }) as const;
const asking = (message: string) => ({ agent: "asking", message }) as const;
const looking = (message: string) => ({ ...free(message), hasImages: true });
const cancelAll = async (server: Server, ids: readonly (string | undefined)[]) => {
  for (const id of ids) if (id) await server.ask("POST", `/v1/runs/${id}/cancel`);
};

const SCENES: Readonly<Record<string, Scene>> = {
  "runs.start": { starts: [free(ROUNDS), free(ROUNDS)], passes: [2] },
  "processes.register": { starts: [free(ROUNDS)] },
  "processes.describe": { starts: [free(ROUNDS)] },
  "runs.claim": { starts: [free(ROUNDS), free(ROUNDS)] },
  "runs.storeImage": { starts: [looking(ROUNDS)], passes: [2] },
  "runs.plan": { starts: [free(ROUNDS), asking(ROUNDS)], passes: [2, 3] },
  "runs.settle": { starts: [free(ROUNDS)], passes: [2] },
  "runs.finish": { starts: [free(ROUNDS), free(ROUNDS)], passes: [2] },
  "runs.wait": { starts: [asking(ROUNDS)] },
  "runs.cancel": { starts: [free(SLOW), asking(ROUNDS)], act: cancelAll, passes: [2] },
  "runs.note": { starts: [free(FAILING)] },
  "runs.release": { starts: [free(SLOW)], act: async ({ child }) => child.terminate() },
  "processes.end": { starts: [free(SLOW)], act: async ({ child }) => child.terminate() },
  "processes.endSilent": { starts: [free(ROUNDS)], isSecond: true },
  "runs.reclaim": { starts: [free(ROUNDS), free(ROUNDS)], isSecond: true },
};
/**
 * Old runs are swept at most once an hour; the only process of a database sends no heartbeat, and
 * takes no lease.
 */
const ALONE = ["processes.beat", "processes.noteSkew", "processes.takeLease", "processes.endLease"];
/** An operator asks for these; none of them changes a run. */
const ASKED = ["drain", "undrain", "endDrain", "askReload", "askAbout"].map(
  (name) => `processes.${name}`,
);
const UNREACHED = ["runs.sweep", "runs.sweepStarts", ...ALONE, ...ASKED];
/** Needs two crashes without progress, as in `suspects.test.ts`. */
const OF_SUSPECTS = ["runs.claimSuspect"];
/** `calls.test.ts` kills at these, where an endpoint counts the requests. */
const OF_CALLS = ["runs.intend", "runs.decide", "runs.expire"];

/** A process is past these when it listens. */
const AT_START = ["processes.register", "processes.describe"];

interface Server {
  child: Program;
  /** The response; undefined: the server has ended. */
  ask(method: string, path: string, body?: object, key?: string): Promise<Response | undefined>;
}

/** Serves an image at every path. */
const images = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => new Response("GIF89a"),
});
afterAll(() => images.stop(true));

let secret = "";
const agents = { free: "", asking: "" };
/** A data directory with two agents, in which nothing has run. */
const template = join(root, "template");

/** Servers one after another on the same data: what recovers one scene dies in the next. */
interface Life {
  data: string;
  /** Undefined: it has been killed. */
  server?: Server;
}
let life: Life | undefined;
let lives = 0;
function begin(): Life {
  const data = join(root, `life-${++lives}`);
  copyData(template, data);
  return { data };
}

async function serve(data: string, failPoint = ""): Promise<Server | undefined> {
  const egress = ["--allow-egress", `127.0.0.1:${images.port}`];
  const command = ["serve", "--json", "--port", "0", "--data", data, ...egress];
  const child = startProgram(command, failPoint);
  const line = await child.next();
  if (line === undefined) {
    expect(await child.ended).toMatchObject({ signal: "SIGKILL" });
    return undefined;
  }
  const { url, key_file } = JSON.parse(line) as { url: string; key_file: string | null };
  if (key_file !== null) secret = readFileSync(key_file, "utf8").trim();
  return {
    child,
    ask: (method, path, body, again) =>
      fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${secret}`,
          "content-type": "application/json",
          ...(again && { "idempotency-key": again }),
        },
        body: body && JSON.stringify(body),
      }).catch(() => undefined),
  };
}

beforeAll(async () => {
  const server = (await serve(template))!;
  const create = async (name: string, policy: object) => {
    const body = { name, system_prompt: "Be brief.", tools: ["calculator"], policy };
    return ((await (await server.ask("POST", "/v1/agents", body))!.json()) as { id: string }).id;
  };
  agents.free = await create("free", {});
  agents.asking = await create("asking", { require_approval: ["calculator"] });
  server.child.terminate();
  await server.child.ended;
});

test("every write of runs and of processes is in the matrix, or unreachable", () => {
  expect([...Object.keys(SCENES), ...UNREACHED, ...OF_CALLS, ...OF_SUSPECTS].toSorted()).toEqual(
    [runStore, processStore]
      .flatMap(({ name, writes }) => Object.keys(writes).map((write) => `${name}.${write}`))
      .toSorted(),
  );
});

for (const [write, scene] of Object.entries(SCENES)) {
  const passes = [1, ...(scene.passes ?? [])];
  const points = passes.flatMap((pass) => [`before#${pass}`, `after#${pass}`]);
  // The state before a write equals the state after the previous one.
  const chosen = chooseCases(points, (point) => point === "after#1");
  test.each(chosen)(`a server killed at ${write}:%s leaves no run unfinished`, async (point) => {
    // A scene that fails leaves nothing to the next one.
    const own = life ?? begin();
    life = undefined;
    const { data } = own;
    const before = progressOf(data);
    const name = `${write}:${point}`;
    if (AT_START.includes(write) && own.server) await stop(own);
    if (scene.isSecond) await live(own, scene, name, "runs.claim:after");
    await live(own, scene, name, name);
    const killed = progressOf(data);

    const server = (await serve(data))!;
    own.server = server;
    const ids: string[] = [];
    for (let n = 0; n < scene.starts.length; n++) ids.push((await start(server, scene, name, n))!);
    for (const id of ids) await endRun(server, id);
    for (const id of ids) await expectSameTwice(server, id);
    // A repeated request gets the first result, if there is one.
    const progress = progressOf(data);
    expect([...progress.keys()].filter((id) => !before.has(id)).toSorted()).toEqual(ids.toSorted());
    for (const [id, { cost, seq }] of progress) {
      expect(cost).toBeGreaterThanOrEqual(killed.get(id)?.cost ?? 0);
      expect(seq).toBeGreaterThanOrEqual(killed.get(id)?.seq ?? 0);
    }
    expectRuns(data);
    life = own;
  });
}

test("the last server stops well, and all runs are as recorded", async () => {
  const { data } = life!;
  await stop(life!);
  expectRuns(data);
});

async function stop(life: Life): Promise<void> {
  const { child } = life.server!;
  life.server = undefined;
  child.terminate();
  expect(await child.ended).toMatchObject({ code: 0 });
}

function expectRuns(data: string): void {
  const none = { unended: 0, step_gaps: 0, message_gaps: 0, unreported: 0, wrong_counts: 0 };
  expect(checkRuns(join(data, "wadi.db"))).toEqual({ ...none, wrong_days: 0 });
}

/** A server that lives until its fail point. */
async function live(life: Life, scene: Scene, name: string, failPoint: string): Promise<void> {
  life.server?.child.arm(failPoint);
  const server = life.server ?? (await serve(life.data, failPoint));
  life.server = undefined;
  if (!server) return;
  const ids: (string | undefined)[] = [];
  for (let n = 0; n < scene.starts.length; n++) ids.push(await start(server, scene, name, n));
  await scene.act?.(server, ids);
  expect(await server.child.ended).toMatchObject({ signal: "SIGKILL" });
}

const IMAGES = ["a", "b"].map((name) => {
  return { type: "image_url", image_url: { url: `http://127.0.0.1:${images.port}/${name}` } };
});

/** The nth start of a case, which is the same request each time; undefined: it was not accepted. */
async function start(
  server: Server,
  { starts }: Scene,
  name: string,
  n: number,
): Promise<string | undefined> {
  const { agent, message, hasImages } = starts[n]!;
  const path = `/v1/agents/${agents[agent]}/runs`;
  const input = hasImages ? { content: [{ type: "text", text: message }, ...IMAGES] } : { message };
  const reply = await server.ask("POST", path, { input }, `${name} ${n}`);
  const text = await reply?.text().catch(() => undefined);
  if (reply === undefined || text === undefined) return undefined;
  expect(reply.status).toBe(202);
  return JSON.parse(text).id;
}

/** Listens to a run until it ends; one that waits for a person, or for its model, is cancelled. */
async function endRun(server: Server, id: string): Promise<void> {
  const reply = (await server.ask("GET", `/v1/runs/${id}/events`))!;
  expect(reply.status).toBe(200);
  let text = "";
  let isCancelled = false;
  const decoder = new TextDecoder();
  for await (const bytes of reply.body!) {
    text += decoder.decode(bytes, { stream: true });
    if (isCancelled || !/"waiting_approval"|"model_retry"/.test(text)) continue;
    isCancelled = true;
    await (await server.ask("POST", `/v1/runs/${id}/cancel`))!.text();
  }
  expect(text).toEndWith("data: [DONE]\n\n");
}

async function expectSameTwice(server: Server, id: string): Promise<void> {
  const read = async () => (await server.ask("GET", `/v1/runs/${id}/events`))!.text();
  const firstRead = await read();
  expect(await read()).toBe(firstRead);
  const seqs = [...firstRead.matchAll(/"step\.completed".*?"seq":(\d+)/g)].map(([, seq]) =>
    Number(seq),
  );
  expect(seqs).toEqual(seqs.map((_, at) => at + 1));
}

function progressOf(data: string): Map<string, { cost: number; seq: number }> {
  const { runs } = dumpDatabase(join(data, "wadi.db")) as {
    runs: { id: string; cost_total: number; last_seq: number }[];
  };
  return new Map(runs.map((run) => [run.id, { cost: run.cost_total, seq: run.last_seq }]));
}
