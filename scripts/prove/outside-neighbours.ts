// One poisonous run of each kind beside twenty normal ones: unmodified, throwing, killing its
// process, and hanging it. The twenty must succeed.
import { hostileChecks } from "../../test/agents/tools/hostile-inputs.ts";
import { hostilePages } from "../../test/agents/tools/page/hostile-pages.ts";
import {
  addAgent,
  look,
  makeRunFixture,
  type RunFixture,
  type RunServer,
  startRun,
  waitUntil,
} from "../bench/run-fixture.ts";
import { launch, readUntil } from "../bench/stage.ts";
import { compile, executable, isStale } from "../build.ts";
import { atLeast, atMost, type Finding } from "./proof.ts";

const NEIGHBOURS = 20;
const NEIGHBOUR = "Work.\n!delay 60ms\n!say Done.";
/** Text that a fail point of the test build matches in a run. */
const MARK = "4242";
/** The loopback's broadcast, which refuses a connection inside the call. */
const NOWHERE = "127.255.255.255:8000";
const SILENCE_MS = "1000";
const STARTS_MAX = 12;
const END_MS_MAX = 60_000;

/** Kind of poison in a run, and how often its process may end by it. */
const EFFECTS = { "as it comes": 0, throw: 0, kill: 6, hang: 2 } as const;
type Effect = keyof typeof EFFECTS;

interface Kind {
  name: string;
  /** Location of the fail point. */
  place: "model" | "reply" | "tool";
  agent: string;
  message: string;
}

const say = (tool: string, args: object) =>
  `Work ${MARK}.\n!tool ${tool} ${JSON.stringify(args)}\n!next\n!say Done.`;

export const proveNeighbours = async (): Promise<Finding[]> => {
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
  const fixture = await makeRunFixture(program, { concurrent_runs: 64, more });
  const first = await serve(fixture, {});
  const agent = await addAgent(first.server, "stub");
  const kinds = await addKinds(first.server, host);
  await first.server.stop();
  const findings: Finding[] = [];
  for (const kind of kinds) {
    for (const effect of Object.keys(EFFECTS) as Effect[]) {
      const { succeeded, ends } = await tryOne(fixture, agent, kind, effect);
      const what = `a ${kind.name} that is poison (${effect})`;
      findings.push(atLeast(`${what}: neighbours that succeeded`, succeeded, NEIGHBOURS));
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

const serve = async (fixture: RunFixture, env: Record<string, string>): Promise<Served> => {
  const child = launch([fixture.program, "serve", "--port", "0", ...fixture.at], env);
  const port = Number(await readUntil(child, /http:\/\/127\.0\.0\.1:(\d+)/));
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    child.kill(signal);
    await child.exited;
  };
  const ask: RunServer["ask"] = (method, path, body) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${fixture.key}`, "content-type": "application/json" },
      body: body && JSON.stringify(body),
    });
  const ends = { stop: () => end("SIGTERM"), kill: () => end("SIGKILL") };
  return { server: { pid: child.pid, port, key: fixture.key, ask, ...ends }, exited: child.exited };
};

/** Restarts the server until the normal runs, and those poisoned by fail points, have ended. */
const tryOne = async (fixture: RunFixture, agent: string, kind: Kind, effect: Effect) => {
  const isForced = effect !== "as it comes";
  const poison: Record<string, string> = isForced
    ? { WADI_POISON: `${effect}:${kind.place}:${MARK}` }
    : {};
  const ids: string[] = [];
  let bad = "";
  const begin = async ({ server }: Served) => {
    for (let n = 0; n < NEIGHBOURS; n++) ids.push(await startRun(server, agent, NEIGHBOUR));
    bad = await startRun(server, kind.agent, kind.message);
  };
  for (let ends = 0; ends < STARTS_MAX; ends++) {
    let hasEnded = false;
    const served = await serve(fixture, { ...poison, WADI_SILENCE_MS: SILENCE_MS }).catch(
      () => null,
    );
    if (!served) continue;
    void served.exited.then(() => {
      hasEnded = true;
    });
    // A process that a poisonous run ends during starts has reported the accepted ones.
    if (bad === "") await begin(served);
    const awaited = isForced ? [...ids, bad] : ids;
    await waitUntil(
      "runs end",
      () => hasEnded || countLive(fixture, awaited) === 0,
      END_MS_MAX,
      25,
    );
    if (hasEnded) continue;
    await (await served.server.ask("POST", `/v1/runs/${bad}/cancel`)).text();
    await served.server.stop();
    return { succeeded: countIn(fixture, ids, "status = 'succeeded'"), ends };
  }
  return { succeeded: countIn(fixture, ids, "status = 'succeeded'"), ends: STARTS_MAX };
};

const countLive = (fixture: RunFixture, ids: readonly string[]): number =>
  countIn(fixture, ids, "finished_at IS NULL");

const countIn = (fixture: RunFixture, ids: readonly string[], condition: string): number =>
  look<{ n: number }>(
    fixture,
    `SELECT COUNT(*) AS n FROM runs WHERE ${condition}
      AND id IN (${ids.map(() => "?").join(", ")})`,
    ...ids,
  )[0]!.n;
