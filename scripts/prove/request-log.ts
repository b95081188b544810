// Kills a loaded server at random, then stops it in order; counts the rows that the request log
// lacks.
import { Database as Connection } from "bun:sqlite";
import { join } from "node:path";
import {
  buildWadi,
  type Child,
  launch,
  makeKey,
  makeScratch,
  readUntil,
  runWadi,
} from "../bench/stage.ts";
import { atLeast, atMost, type Finding, measured, type Proof } from "./proof.ts";

const KILLS = 20;
const KILLS_LONG = 100;
const STOPS = 5;
const CALLERS = 16;
const CHAT = { messages: [{ role: "user", content: "Hello" }] };
/** In turns. */
const REQUESTS: readonly [path: string, body: object][] = [
  ["/v1/chat/completions", CHAT],
  ["/v1/chat/completions", { ...CHAT, stream: true }],
  ["/v1/embeddings", { input: ["Hello", "there"] }],
  ["/v1/chat/completions", { ...CHAT, think: true }],
  ["/v1/search", { query: "Hello" }],
];
const SCOPES = ["agents", "embeddings", "search", "think"];
const LIFE_MS_LEAST = 300;
const LIFE_MS_MAX = 1_500;
/** Requests answered longer ago than this must have a row; it exceeds the time of two writes. */
const LOST_MS_MAX = 100;
const WRITES_LOST = 2;
/** The last writes show how busy disk and cores were. */
const RECENT_MS = 2_000;

const SETTINGS = `
[agents]
open = true

[limits]
requests_per_minute = 1000000
address_requests_per_minute = 1000000

[[models]]
id = "stub-1"
self_hosted = true
capabilities = ["streaming"]
price = { prompt = "1.00", completion = "2.00" }
upstream = { kind = "stub" }

[embeddings]
kind = "stub"
price = "0.10"
requests_per_minute = 1000000

[search]
kind = "stub"
requests_per_minute = 1000000
`;

/** All of one run. */
interface Run {
  program: string;
  at: string[];
  file: string;
  key: string;
  /** Row that the concurrent writes change. */
  agent_id?: string;
  /** Requests with a complete reply and their times; each has a row, or gets one. */
  answered: Map<string, number>;
  sent: number;
  kills: number;
  /** Age at the kill of the oldest answered request without a row. */
  oldest_lost_ms: number;
  /** Longest concurrent write in the moments before a kill. */
  longest_write_ms: number;
  lost_late: number;
  lost_by_stops: number;
}

export const requestLog: Proof = {
  name: "ledger",
  about: "kill -9 under load loses the ledger's last 100 ms, or two writes; SIGTERM nothing",
  async run(isLong) {
    const program = await buildWadi();
    const directory = makeScratch();
    const config = join(directory, "wadi.toml");
    await Bun.write(config, SETTINGS);
    const data = join(directory, "data");
    const at = ["--config", config, "--data", data];
    const key = await makeKey(program, at, SCOPES);
    const run: Run = {
      ...{ program, at, file: join(data, "wadi.db"), key, answered: new Map(), sent: 0 },
      ...{ kills: 0, oldest_lost_ms: 0, longest_write_ms: 0, lost_late: 0, lost_by_stops: 0 },
    };
    const kills = isLong ? KILLS_LONG : KILLS;
    for (let kill = 0; kill < kills; kill++) await liveOnce(run, "SIGKILL");
    for (let stop = 0; stop < STOPS; stop++) await liveOnce(run, "SIGTERM");
    return listFindings(run, kills, await compareSums(run));
  },
};

const listFindings = (run: Run, kills: number, sums: SumsFound): Finding[] => [
  atLeast("servers killed under load", run.kills, kills),
  atLeast("requests answered", run.answered.size, kills * 100),
  atLeast("routes among them", sums.routes, 3),
  atMost("answered over 100 ms and two writes before a kill, and without a row", run.lost_late, 0),
  measured("the oldest that was lost, before its kill", run.oldest_lost_ms, " ms"),
  measured("the longest write just before a kill", run.longest_write_ms, " ms"),
  atMost(`answered before ${STOPS} stops, and without a row`, run.lost_by_stops, 0),
  atMost("sums that differ from their rows", sums.differences, 0),
  atMost("`wadi usage` against the rows, in requests", sums.usage_difference, 0),
  atMost("rows that nobody sent, or twice", sums.strange, 0),
];

/** Serves under load for a while, ends by the signal, and looks for every answer's row. */
const liveOnce = async (run: Run, signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
  const child = launch([run.program, "serve", "--port", "0", ...run.at]);
  const url = await readUntil(child, /(http:\/\/127\.0\.0\.1:\d+)/);
  const answered = new Map<string, number>();
  const callers = Array.from({ length: CALLERS }, () => call(run, url, answered));
  const writes = observeWrites(run, url);
  await Bun.sleep(LIFE_MS_LEAST + Math.random() * (LIFE_MS_MAX - LIFE_MS_LEAST));
  const ended_at = performance.now();
  child.kill(signal);
  await child.exited;
  await Promise.all([...callers, writes.ended]);
  if (signal === "SIGTERM") await requireCleanEnd(child);
  if (signal === "SIGTERM") return check(run, answered, null);
  check(run, answered, { at: ended_at, write_ms: writes.findLongest(ended_at) });
};

const requireCleanEnd = async (child: Child): Promise<void> => {
  const code = await child.exited;
  if (code !== 0) throw new Error(`a stop ended with ${code}: ${child.complaint()}`);
};

/** Sends requests until the server ends; records complete replies. */
const call = async (run: Run, url: string, answered: Map<string, number>): Promise<void> => {
  for (;;) {
    const [path, body] = REQUESTS[run.sent % REQUESTS.length]!;
    const id = `prove-${run.sent++}`;
    try {
      const reply = await fetch(`${url}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${run.key}`,
          "content-type": "application/json",
          "x-request-id": id,
        },
        body: JSON.stringify(body),
      });
      const text = await reply.text();
      const isWhole = !("stream" in body) || text.endsWith("[DONE]\n\n");
      if (reply.ok && isWhole) answered.set(id, performance.now());
    } catch {
      // The server has ended.
      return;
    }
  }
};

/** Writes in sequence until the server ends, to measure the current duration of a commit. */
const observeWrites = (run: Run, url: string) => {
  const writes: { begun_at: number; ended_at: number }[] = [];
  const headers = { authorization: `Bearer ${run.key}`, "content-type": "application/json" };
  /** The duration; null: the server has ended. */
  const send = async (method: string, path: string, body: object): Promise<string | null> => {
    const write = { begun_at: performance.now(), ended_at: Number.POSITIVE_INFINITY };
    writes.push(write);
    const init = { method, headers, body: JSON.stringify(body) };
    const reply = await fetch(`${url}${path}`, init).catch(() => null);
    const text = await reply?.text().catch(() => null);
    if (!reply || typeof text !== "string") return null;
    // At a stop late callers are refused.
    if (reply.status === 503) return null;
    if (!reply.ok) throw new Error(`a write was answered ${reply.status}: ${text}`);
    write.ended_at = performance.now();
    return (JSON.parse(text) as { id: string }).id;
  };
  const writeOn = async () => {
    const about = { name: "Busy", system_prompt: "Be brief." };
    let id = run.agent_id ?? (await send("POST", "/v1/agents", about));
    for (let n = 0; id !== null; n++) {
      run.agent_id = id;
      id = await send("PATCH", `/v1/agents/${id}`, { description: `${n}` });
    }
  };
  return {
    ended: writeOn(),
    findLongest: (killed_at: number) => {
      const recent = writes.filter(
        ({ begun_at, ended_at }) => begun_at < killed_at && ended_at > killed_at - RECENT_MS,
      );
      const times = recent.map((one) => Math.min(one.ended_at, killed_at) - one.begun_at);
      return Math.max(0, ...times);
    },
  };
};

interface Kill {
  at: number;
  write_ms: number;
}

const check = (run: Run, answered: ReadonlyMap<string, number>, kill: Kill | null) => {
  const written = new Set(readRows(run).map(({ request_id }) => request_id));
  run.kills += kill === null ? 0 : 1;
  run.longest_write_ms = Math.max(run.longest_write_ms, kill?.write_ms ?? 0);
  for (const [id, at] of answered) {
    run.answered.set(id, at);
    if (written.has(id)) continue;
    if (kill === null) run.lost_by_stops++;
    else {
      const before_ms = kill.at - at;
      run.oldest_lost_ms = Math.max(run.oldest_lost_ms, before_ms);
      if (before_ms > Math.max(LOST_MS_MAX, WRITES_LOST * kill.write_ms)) run.lost_late++;
    }
  }
};

interface RowFound {
  request_id: string;
}

const readRows = ({ file }: Run): RowFound[] => {
  using connection = new Connection(file);
  return connection.query("SELECT request_id FROM ledger").all() as RowFound[];
};

interface SumsFound {
  /** Routes with at least one successful request. */
  routes: number;
  differences: number;
  usage_difference: number;
  strange: number;
}

interface UsageFound {
  rows: { route: string; requests: number }[];
}

const SUMS = `route, SUM(requests), SUM(failed + callers_left), SUM(prompt_tokens), SUM(completion_tokens), SUM(cost)`;
const ROWS = `route, COUNT(*), SUM(code IS NOT NULL), SUM(COALESCE(prompt_tokens, 0)),
  SUM(COALESCE(completion_tokens, 0)), SUM(cost)`;

const compareSums = async (run: Run): Promise<SumsFound> => {
  const rows = readRows(run);
  const ids = new Set(rows.map(({ request_id }) => request_id));
  using connection = new Connection(run.file);
  const list = (columns: string, table: string) =>
    connection.query(`SELECT ${columns} FROM ${table} GROUP BY route ORDER BY route`).values();
  const sums = list(SUMS, "usage_sums").flat();
  const found = list(ROWS, "ledger").flat();
  const line = [run.program, "usage", "--by", "route", "--json", ...run.at];
  const report = JSON.parse(await runWadi(line)) as UsageFound;
  const left = new Map(list("route, COUNT(*)", "ledger") as [string, number][]);
  for (const { route, requests } of report.rows) {
    left.set(route, (left.get(route) ?? 0) - requests);
  }
  const isOurs = (id: string) => Number(/^prove-(\d+)$/.exec(id)?.[1] ?? run.sent) < run.sent;
  const well = connection.query("SELECT DISTINCT route FROM ledger WHERE code IS NULL").values();
  return {
    routes: well.length,
    differences: found.filter((one, n) => one !== sums[n]).length + sums.length - found.length,
    usage_difference: [...left.values()].reduce((sum, one) => sum + Math.abs(one), 0),
    strange: rows.length - ids.size + [...ids].filter((id) => !isOurs(id)).length,
  };
};
