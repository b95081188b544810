// Kills a server at random while the command line creates and revokes keys.
import { join } from "node:path";
import { buildWadi, launch, makeScratch, readUntil, runWadi } from "../bench/stage.ts";
import { atLeast, atMost, type Finding, type Proof } from "./proof.ts";

const KILLS = 200;
const KILLS_LONG = 1_000;
/** Writers of the command line at the same time. */
const WRITERS = 2;
/** A server lives this long at most, counted from its readiness. */
const LIFE_MS_MAX = 150;
/** One of so many command lines is killed at a random instant. */
const KILL_WRITER_EVERY = 8;
const WRITER_LIFE_MS_MAX = 90;
/** Requests at the same time while all keys are looked at. */
const LOOKERS = 16;
const READY_MS_MAX = 5_000;

/** Acknowledged state; `unsure`: a revocation was killed before its acknowledgement. */
interface KnownKey {
  secret: string;
  state: "live" | "unsure" | "revoked";
}

/** All of one run. */
interface Run {
  program: string;
  at: string[];
  keys: Map<string, KnownKey>;
  /** Address of the server; empty while it is down. */
  url: string;
  isOver: boolean;
  ready_ms_max: number;
  /** Keys that are not as they were acknowledged. */
  lost: Set<string>;
  revocations: number;
  /** Commands that failed without being killed. */
  failed: number;
}

export const killKeys: Proof = {
  name: "kill-keys",
  about: "kill -9 of the server and of command lines at random; nothing acknowledged is lost",
  async run(isLong) {
    const program = await buildWadi();
    const directory = makeScratch();
    const config = join(directory, "wadi.toml");
    await Bun.write(config, "[limits]\nrequests_per_minute = 1000000\n");
    const at = ["--config", config, "--data", join(directory, "data")];
    await runWadi([program, "accounts", "create", "prove", ...at]);
    const run: Run = {
      ...{ program, at, keys: new Map(), url: "", isOver: false },
      ...{ ready_ms_max: 0, lost: new Set(), revocations: 0, failed: 0 },
    };
    const kills = isLong ? KILLS_LONG : KILLS;
    const writers = Array.from({ length: WRITERS }, () => write(run));
    for (let kill = 0; kill < kills; kill++) await liveOnce(run, Math.random() * LIFE_MS_MAX);
    run.isOver = true;
    await Promise.all(writers);
    // Once more, without writers.
    await liveOnce(run, 0);
    return listFindings(run, kills);
  },
};

const listFindings = (run: Run, kills: number): Finding[] => [
  atLeast("servers killed", kills, KILLS),
  atLeast("keys acknowledged", run.keys.size, kills),
  atLeast("revocations acknowledged", run.revocations, kills / 4),
  atMost("acknowledged keys or revocations lost", run.lost.size, 0),
  atMost("command lines that failed unkilled", run.failed, 0),
  atMost("slowest start, to /readyz", run.ready_ms_max, READY_MS_MAX, " ms"),
];

/** Starts a server, looks at every key, and kills it `life_ms` later. */
const liveOnce = async (run: Run, life_ms: number): Promise<void> => {
  const started_at = performance.now();
  const child = launch([run.program, "serve", "--port", "0", ...run.at]);
  const url = await readUntil(child, /(http:\/\/127\.0\.0\.1:\d+)/);
  while (!(await fetch(`${url}/readyz`)).ok) await Bun.sleep(5);
  run.ready_ms_max = Math.max(run.ready_ms_max, performance.now() - started_at);
  run.url = url;
  await lookAtAll(run, url);
  await Bun.sleep(life_ms);
  run.url = "";
  child.kill("SIGKILL");
  await child.exited;
};

const lookAtAll = async (run: Run, url: string): Promise<void> => {
  const rest = [...run.keys];
  const look = async () => {
    for (let next = rest.pop(); next; next = rest.pop()) {
      const [id, key] = next;
      const state = key.state;
      const status = await askModels(url, key.secret);
      // A concurrent revocation decides which answer was right.
      if (key.state !== state || state === "unsure") continue;
      if (status !== (state === "live" ? 200 : 401)) run.lost.add(id);
    }
  };
  await Promise.all(Array.from({ length: LOOKERS }, look));
};

const askModels = async (url: string, secret: string): Promise<number> => {
  const headers = { authorization: `Bearer ${secret}` };
  const reply = await fetch(`${url}/v1/models`, { headers });
  await reply.arrayBuffer();
  return reply.status;
};

/** Makes and revokes keys with the command line until the run is over. */
const write = async (run: Run): Promise<void> => {
  while (!run.isOver) {
    const live = [...run.keys].filter(([, { state }]) => state === "live");
    if (live.length > 0 && Math.random() < 0.4) {
      const [id, key] = live[Math.floor(Math.random() * live.length)]!;
      await revoke(run, id, key);
    } else {
      const text = await type(run, ["keys", "create", "--account", "prove"]);
      if (text === undefined) continue;
      const { id, secret } = JSON.parse(text);
      run.keys.set(id, { secret, state: "live" });
    }
  }
};

const revoke = async (run: Run, id: string, key: KnownKey): Promise<void> => {
  key.state = "unsure";
  if ((await type(run, ["keys", "revoke", id])) === undefined) return;
  key.state = "revoked";
  run.revocations++;
  // The key is refused at its next request, also by a running server.
  const status = run.url && (await askModels(run.url, key.secret).catch(() => undefined));
  if (status === 200) run.lost.add(id);
};

/** Output of a command; undefined without an acknowledgement. */
const type = async (run: Run, verb: string[]): Promise<string | undefined> => {
  const child = launch([run.program, ...verb, "--json", ...run.at]);
  const isKilled = Math.random() * KILL_WRITER_EVERY < 1;
  if (isKilled) {
    await Bun.sleep(Math.random() * WRITER_LIFE_MS_MAX);
    child.kill("SIGKILL");
  }
  const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  if (code === 0) return text;
  if (!isKilled) run.failed++;
  return undefined;
};
