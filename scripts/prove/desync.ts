// Checks that four accounts each get their own text from servers that send surplus replies.
import { join } from "node:path";
import { buildWadi, launch, makeScratch, readUntil, runWadi } from "../bench/stage.ts";
import { type DesyncServer, FAULTS, startDesyncServer } from "./desync-server.ts";
import { atLeast, atMost, type Finding, type Proof } from "./proof.ts";

const ACCOUNTS = ["ann", "ben", "cem", "dua"];
/** A server that once sent a surplus reply is not trusted again: each serves few requests. */
const SERVERS = 50;
const SERVERS_LONG = 500;
const SERVERS_AT_ONCE = 5;
/** Callers of each account per server, and requests that each sends in sequence. */
const CALLERS = 2;
const TURNS = 5;
/** Between two requests of a caller, on average. */
const PAUSE_MS = 50;
const REPLY_MS = [1, 10, 30];
const FAILED_MAX = 0.1;

interface Exchange {
  server: DesyncServer;
  sent: string;
  /** The text of the reply; null: a failure. */
  received: string | null;
}

export const desync: Proof = {
  name: "desync",
  about: "model servers that send surplus, late, split and double replies to four accounts",
  async run(isLong) {
    const count = isLong ? SERVERS_LONG : SERVERS;
    const servers = Array.from({ length: count }, (_, at) => {
      const reply_ms = REPLY_MS[at % REPLY_MS.length]!;
      return startDesyncServer(FAULTS[at % FAULTS.length]!, reply_ms);
    });
    const { child, url, keys } = await serve(servers);
    const exchanges: Exchange[] = [];
    const waiting = [...servers.entries()];
    const work = async () => {
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        exchanges.push(...(await askAll(url, keys, next)));
      }
    };
    await Promise.all(Array.from({ length: SERVERS_AT_ONCE }, work));
    const isAlive = await fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
    child.kill("SIGTERM");
    await child.exited;
    for (const server of servers) server.stop();
    return [...check(servers, exchanges), atMost("processes that ended", isAlive ? 0 : 1, 0)];
  },
};

const serve = async (servers: readonly DesyncServer[]) => {
  const program = await buildWadi();
  const directory = makeScratch();
  const config = join(directory, "wadi.toml");
  const models = servers.map(({ port }, at) => writeModel(at, port)).join("\n");
  const limits = "[limits]\nrequests_per_minute = 1000000\naddress_requests_per_minute = 1000000\n";
  await Bun.write(config, limits + models);
  const at = ["--config", config, "--data", join(directory, "data")];
  const keys: string[] = [];
  for (const account of ACCOUNTS) {
    await runWadi([program, "accounts", "create", account, ...at]);
    keys.push(await runWadi([program, "keys", "create", "--account", account, ...at]));
  }
  const child = launch([program, "serve", "--port", "0", ...at]);
  const url = `http://127.0.0.1:${await readUntil(child, /http:\/\/127\.0\.0\.1:(\d+)/)}`;
  return { child, url, keys };
};

const writeModel = (at: number, port: number) => `
[[models]]
id = "m${at}"
self_hosted = true
capabilities = ["streaming"]
[models.upstream]
kind = "openai"
urls = ["http://127.0.0.1:${port}/v1"]
health_every = "0s"
`;

/** All callers use one server at a time. */
const askAll = async (
  url: string,
  keys: readonly string[],
  [at, server]: [number, DesyncServer],
): Promise<Exchange[]> => {
  const exchanges: Exchange[] = [];
  const call = async (account: number, caller: number) => {
    for (let turn = 0; turn < TURNS; turn++) {
      const sent = `${ACCOUNTS[account]} ${at}-${caller}-${turn}`;
      const received = await ask(url, keys[account]!, `m${at}`, sent, turn % 2 === 1);
      exchanges.push({ server, sent: sent, received: received });
      await Bun.sleep(PAUSE_MS * (0.5 + Math.random()));
    }
  };
  const callers = ACCOUNTS.flatMap((_, account) =>
    Array.from({ length: CALLERS }, (__, caller) => call(account, caller)),
  );
  await Promise.all(callers);
  return exchanges;
};

const ask = async (
  url: string,
  key: string,
  model: string,
  content: string,
  stream: boolean,
): Promise<string | null> => {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content }], stream }),
  });
  const text = await reply.text();
  return /"content":\s*"([a-z]+ [\d-]+)"/.exec(text)?.[1] ?? null;
};

const accountOf = (text: string): string => text.split(" ")[0]!;

const check = (servers: readonly DesyncServer[], exchanges: readonly Exchange[]): Finding[] => {
  const sum = (read: (server: DesyncServer) => number) =>
    servers.reduce((total, server) => total + read(server), 0);
  const failed = exchanges.filter(({ received }) => received === null);
  const wrong = exchanges.filter(({ sent, received }) => received !== null && received !== sent);
  const crossed = wrong.filter(({ sent, received }) => accountOf(sent) !== accountOf(received!));
  const wrongAt = (server: DesyncServer) => wrong.filter((one) => one.server === server).length;
  const beyond = sum((server) => Math.max(0, wrongAt(server) - server.inTurn));
  const connections = sum((server) => server.connections);
  const echoed = wrong.filter(({ server }) => server.fault === "echo");
  return [
    atLeast("requests", exchanges.length, 2_000),
    atLeast(
      "replies that nobody had asked for",
      sum(({ surplus }) => surplus),
      100,
    ),
    atLeast(
      "of them in the turn of another request",
      sum(({ inTurn }) => inTurn),
      10,
    ),
    atLeast("requests over a connection that was used before", exchanges.length - connections, 200),
    atMost("texts of another account", crossed.length, 0),
    atMost(
      "texts of another request of the account",
      wrong.length,
      sum(({ inTurn }) => inTurn),
    ),
    atMost("of them beyond one for each reply in another's turn", beyond, 0),
    atMost("of them from a server that sends ids back", echoed.length, 0),
    atMost("requests that failed", failed.length, Math.floor(exchanges.length * FAILED_MAX)),
  ];
};
