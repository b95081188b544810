// One poisonous run of each kind beside twenty innocent ones: as it comes, throwing, killing its
// process, and hanging it. The twenty succeed.
import { hostileChecks } from "../../test/agents/tools/hostile-inputs.ts";
import { hostilePages } from "../../test/agents/tools/page/hostile-pages.ts";
import {
  addAgent,
  look,
  makeGround,
  type RunGround,
  type RunServer,
  startRun,
  waitUntil,
} from "../bench/run-ground.ts";
import { launch, readUntil } from "../bench/stage.ts";
import { compile, executable, isStale } from "../build.ts";
import { atLeast, atMost, type Finding } from "./proof.ts";

const INNOCENTS = 20;
const INNOCENT = "Work.\n!delay 60ms\n!say Done.";
/** What a fail point of the test build looks for in a run's work. */
const MARK = "4242";
/** The loopback's broadcast, which refuses a connection inside the call. */
const NOWHERE = "127.255.255.255:8000";
const SILENCE_MS = "1000";
const STARTS_MAX = 12;
const END_MS_MAX = 60_000;

/** How a run is poisonous, and how often its process may end by that. */
const EFFECTS = { "as it comes": 0, throw: 0, kill: 6, hang: 2 } as const;
type Effect = keyof typeof EFFECTS;

interface Kind {
  name: string;
  /** Where the fail point lies. */
  place: "model" | "reply" | "tool";
  agent: string;
  message: string;
}

const say = (tool: string, args: object) =>
  `Work ${MARK}.\n!tool ${tool} ${JSON.stringify(args)}\n!next\n!say Done.`;

export const proveInnocents = async (): Promise<Finding[]> => {
  if (isStale({ failPoints: true })) await compile({ failPoints: true });
  using pages = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(hostilePages[0]![1], { headers: { "content-type": "text/html" } }),
  });
  const host = `127.0.0.1:${pages.port}`;
  const more = `
[[models]]
id = "nowhere"
self_hosted = true
capabilities = ["tools"]
upstream = { kind = "openai", urls = ["http://${NOWHERE}/v1"] }
[egress]
allow = ["${host}", "${NOWHERE}"]`;
  const program = executable({ failPoints: true });
  const ground = await makeGround(program, { concurrent_runs: 64, more });
  const first = await serve(ground, {});
  const agent = await addAgent(first.server, "stub");
  const kinds = await addKinds(first.server, host);
  await first.server.stop();
  const findings: Finding[] = [];
  for (const kind of kinds) {
    for (const effect of Object.keys(EFFECTS) as Effect[]) {
      const { succeeded, ends } = await tryOne(ground, agent, kind, effect);
      const what = `a ${kind.name} that is poison (${effect})`;
      findings.push(atLeast(`${what}: innocents that succeeded`, succeeded, INNOCENTS));
      findings.push(atMost(`${what}: ends of the process`, ends, EFFECTS[effect]));
    }
  }
  return findings;
};

const addKinds = async (server: RunServer, host: string): Promise<Kind[]> => {
  const create = async (path: string, body: object): Promise<{ id: string }> => {
    const reply = await server.ask("POST", path, body);
    if (reply.status !== 201) throw new Error(`${path}: ${await reply.text()}`);
    return (await reply.json()) as { id: string };
  };
  const [, parameters, value] = hostileChecks[0]!;
  const about = { description: "It looks.", risk: "read", external_content: false };
  await create("/v1/tools", {
    ...{ ...about, name: "far", endpoint: `http://${NOWHERE}/` },
    parameters: { type: "object" },
  });
  const endpoint = `http://${host}/`;
  await create("/v1/tools", { ...about, name: "checked", endpoint, parameters });
  const tools = ["calculator", "read_page", "far", "checked"];
  const named = { system_prompt: "Be brief.", tools };
  const { id: agent } = await create("/v1/agents", { ...named, name: "All", model: "stub" });
  const other = { ...named, name: "Far", model: "nowhere" };
  const { id: far } = await create("/v1/agents", other);
  const url = `http://${host}/${MARK}`;
  return [
    { name: "model", place: "model", agent: far, message: `Work ${MARK}.` },
    { name: "tool", place: "tool", agent, message: say("far", { a: MARK }) },
    {
      ...{ name: "calculation", place: "tool", agent },
      message: say("calculator", { expression: `atan(1e5000) + ${MARK}` }),
    },
    { name: "page", place: "tool", agent, message: say("read_page", { url }) },
    {
      ...{ name: "schema", place: "reply", agent },
      message: say("checked", { a: value, mark: MARK }),
    },
  ];
};

interface Served {
  server: RunServer;
  exited: Promise<number>;
}

const serve = async (ground: RunGround, env: Record<string, string>): Promise<Served> => {
  const child = launch([ground.program, "serve", "--port", "0", ...ground.at], env);
  const port = Number(await readUntil(child, /http:\/\/127\.0\.0\.1:(\d+)/));
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    child.kill(signal);
    await child.exited;
  };
  const ask: RunServer["ask"] = (method, path, body) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${ground.key}`, "content-type": "application/json" },
      body: body && JSON.stringify(body),
    });
  const ends = { stop: () => end("SIGTERM"), kill: () => end("SIGKILL") };
  return { server: { pid: child.pid, port, key: ground.key, ask, ...ends }, exited: child.exited };
};

/** Serves again and again until the innocent runs, and what becomes poison by force, have ended. */
const tryOne = async (ground: RunGround, agent: string, kind: Kind, effect: Effect) => {
  const isForced = effect !== "as it comes";
  const poison: Record<string, string> = isForced
    ? { WADI_POISON: `${effect}:${kind.place}:${MARK}` }
    : {};
  const ids: string[] = [];
  let bad = "";
  const begin = async ({ server }: Served) => {
    for (let n = 0; n < INNOCENTS; n++) ids.push(await startRun(server, agent, INNOCENT));
    bad = await startRun(server, kind.agent, kind.message);
  };
  for (let ends = 0; ends < STARTS_MAX; ends++) {
    let hasEnded = false;
    const served = await serve(ground, { ...poison, WADI_SILENCE_MS: SILENCE_MS }).catch(
      () => null,
    );
    if (!served) continue;
    void served.exited.then(() => {
      hasEnded = true;
    });
    // A process that its poison ends while runs are started has told of those that it accepted.
    if (bad === "") await begin(served);
    const awaited = isForced ? [...ids, bad] : ids;
    await waitUntil("runs end", () => hasEnded || countLive(ground, awaited) === 0, END_MS_MAX, 25);
    if (hasEnded) continue;
    await (await served.server.ask("POST", `/v1/runs/${bad}/cancel`)).text();
    await served.server.stop();
    return { succeeded: countIn(ground, ids, "status = 'succeeded'"), ends };
  }
  return { succeeded: countIn(ground, ids, "status = 'succeeded'"), ends: STARTS_MAX };
};

const countLive = (ground: RunGround, ids: readonly string[]): number =>
  countIn(ground, ids, "finished_at IS NULL");

const countIn = (ground: RunGround, ids: readonly string[], condition: string): number =>
  look<{ n: number }>(
    ground,
    `SELECT COUNT(*) AS n FROM runs WHERE ${condition}
      AND id IN (${ids.map(() => "?").join(", ")})`,
    ...ids,
  )[0]!.n;
