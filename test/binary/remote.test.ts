// Commands on local files and through a server's operator API: the same
// bytes on stdout and stderr, and the same exit code.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { loadAllCommands } from "../../src/cli/families.ts";
import { openRoom, type Room, type RunOptions, type Server } from "../support/binary.ts";
import { followRun } from "../support/follow-run.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a test expects says what it is.
type Json = { [field: string]: any };

const UNKNOWN = "0198f000-0000-7000-8000-000000000001";
/** Commands that name the version of the program, which the source does not have; all only read. */
const COMPILED = ["openapi", "status", "version"];
/** Commands that take no --server. */
const LOCAL = [
  ...["dev", "serve", "init", "login", "listen", "completion", "chat"],
  ...["backup", "restore", "move", "upgrade"],
];
const SETTINGS = `[server]
port = 0

[[models]]
id = "stub-1"
self_hosted = true
capabilities = ["tools", "streaming"]
upstream = { kind = "stub" }

[[models]]
id = "outside"
upstream = { kind = "stub" }

[search]
kind = "stub"
`;

const SETTINGS_ENV = {
  WADI_LIMITS__REQUESTS_PER_MINUTE: "1000000",
  WADI_LIMITS__ADDRESS_REQUESTS_PER_MINUTE: "1000000",
  WADI_OPERATOR__REQUESTS_PER_MINUTE: "1000000",
};

let room: Room;
let server: Server;
let token: string;
const ids: Record<string, string> = {};

beforeAll(async () => {
  room = openRoom();
  await Bun.write(join(room.directory, "wadi.toml"), SETTINGS);
  server = await room.serve(["serve"], { env: SETTINGS_ENV });
  token = (await room.perform(["operators", "create", "noura"])).stdout.trim();
  await room.perform(["operators", "create", "leaver"]);
  await fill();
});
afterAll(() => room.close());

const send = async (path: string, body?: object) =>
  (await (await server.ask("POST", path, { body })).json()) as Json;
const look = async (path: string) => (await (await server.ask("GET", path)).json()) as Json;

/** Creates an object of each kind, whose ids the lines below name. */
async function fill(): Promise<void> {
  const agent = await send("/v1/agents", {
    ...{ name: "Clerk", system_prompt: "x", tools: ["web_search"] },
    policy: { require_approval: ["web_search"] },
  });
  ids.AGENT = agent.id;
  ids.RUN = (await start('!say "Done."', "succeeded")).id;
  ids.APPROVAL = (await start(search("one"), "waiting_approval")).pending_approvals[0];
  ids.REJECTED = (await start(search("two"), "waiting_approval")).pending_approvals[0];
  await send("/v1/tools", {
    ...{ name: "send_letter", description: "Sends a letter.", parameters: { type: "object" } },
    endpoint: "https://api.example.com/letters",
  });
  const connection = { name: "orders", kind: "bearer", secret: "s3cret-text", allowed_hosts: [] };
  ids.CONNECTION = (await send("/v1/tools/connections", connection)).id;
  const trigger = { name: "Nightly", kind: "cron", cron: "0 3 1 1 *", agent_id: agent.id };
  ids.TRIGGER = (await send("/v1/triggers", { ...trigger, input: { message: "Go" } })).id;
  const endpoint = { url: "https://hooks.example.com/in", events: ["run.completed"] };
  ids.ENDPOINT = (await send("/v1/webhooks", endpoint)).id;
  const made = await room.perform(["keys", "create", "--account", "default", "--json"]);
  ids.KEY = (JSON.parse(made.stdout) as Json).id;
}

async function start(message: string, status: string): Promise<Json> {
  const { id } = await send(`/v1/agents/${ids.AGENT}/runs`, { input: { message } });
  await followRun(server, id, `"status":"${status}"`);
  return look(`/v1/runs/${id}`);
}

const search = (query: string) =>
  `!tool web_search ${JSON.stringify({ query })}\n!next\n!say Done.`;

/** Lines of each command; those that change something run twice locally before the comparison. */
const LINES: Record<string, readonly string[]> = {
  check: ["check"],
  "accounts create": ["accounts create acme", "accounts create -"],
  "accounts list": ["accounts list", "accounts list --json"],
  "accounts grant": ["accounts grant default outside", "accounts grant default out"],
  "accounts ungrant": ["accounts ungrant default outside --json"],
  "accounts hold": ["accounts hold acme --reason Late"],
  "accounts delete": [
    "accounts delete default",
    "accounts delete acme --yes",
    "accounts delete acme --yes --json",
  ],
  "accounts release": ["accounts release acme", "accounts release acm"],
  "keys create": [
    "keys create --account default --name Laptop --scope search --expires 90d --json",
    "keys create --no-account --internal",
    "keys create --account default --scope nonsense",
    "keys create --account default --model stub",
  ],
  "keys list": ["keys list --account acme", "keys list --account nobody"],
  "accounts limit": [
    "accounts limit acme --tokens-day 2M --cost-month 500",
    "accounts limit acme --tokens-day none --json",
    "accounts limit acm",
  ],
  "accounts limits": ["accounts limits", "accounts limits --json"],
  "keys limit": ["keys limit KEY --requests-minute 60", "keys limit UNKNOWN"],
  "keys show": ["keys show KEY", "keys show KEY --json", "keys show UNKNOWN"],
  "keys update": ["keys update KEY --name Desk --json", "keys update KEY --scope nonsense"],
  "keys revoke": ["keys revoke KEY", "keys revoke UNKNOWN", "keys revoke not-an-id"],
  "keys rotate": ["keys rotate KEY", "keys rotate KEY --overlap soon"],
  "keys chat": ["keys chat UNKNOWN Hello", "keys chat KEY"],
  "operators create": ["operators create noura", "operators create -"],
  "operators list": ["operators list", "operators list --json"],
  "operators revoke": ["operators revoke leaver", "operators revoke laever"],
  "operators sessions": ["operators sessions", "operators sessions --json"],
  "operators end": ["operators end UNKNOWN", "operators end nonsense"],
  console: ["console --as laever"],
  "audit list": ["audit list --operation sweep", "audit list --since never"],
  "agents create": [
    "agents create Noter --key KEY --prompt Notes --tool nothing",
    "agents create Noter",
  ],
  "agents list": ["agents list", "agents list --json", "agents list --account nobody"],
  "agents show": ["agents show AGENT", "agents show AGENT --json", "agents show AGENT --version 9"],
  "agents versions": ["agents versions AGENT", "agents versions UNKNOWN --json"],
  "agents diff": ["agents diff AGENT 1 1", "agents diff AGENT 1 9", "agents diff AGENT one 2"],
  "agents evaluate": ["agents evaluate AGENT --last 0", "agents evaluate UNKNOWN"],
  "agents evaluations": ["agents evaluations AGENT", "agents evaluations UNKNOWN --json"],
  "agents evaluation": ["agents evaluation UNKNOWN", "agents evaluation UNKNOWN --cancel"],
  "agents hold": ["agents hold AGENT --reason Circles", "agents hold UNKNOWN"],
  "agents release": ["agents release AGENT"],
  "runs list": [
    ...["runs list", "runs list --json --limit 1", "runs list --status nonsense"],
    "runs list --metadata ticket=A-17 --metadata a=b --json",
    `runs list --metadata ticket=${"x".repeat(513)}`,
  ],
  "runs count": ["runs count", "runs count --since 1h --json", "runs count --trigger nonsense"],
  "runs failures": ["runs failures", "runs failures --since 1h --json"],
  "runs usage": ["runs usage", "runs usage --json"],
  "runs show": ["runs show RUN", "runs show RUN --json", "runs show UNKNOWN"],
  "runs follow": ["runs follow RUN", "runs follow RUN --json", "runs follow UNKNOWN"],
  "runs start": [
    "runs start AGENT Hello",
    "runs start AGENT Hello --metadata ticket=A-17 --metadata a=b --follow",
    "runs start AGENT Hello --metadata ticket",
    "runs start AGENT Hello --image https://images.example.com/a.png",
    "runs start AGENT Hello --image http://10.0.0.1/a.png",
    "runs start AGENT Hello --image wadi.toml",
    "runs start UNKNOWN x",
  ],
  "runs again": ["runs again RUN --key KEY", "runs again RUN --recorded", "runs again UNKNOWN"],
  "runs compare": ["runs compare RUN RUN", "runs compare RUN RUN --json", "runs compare RUN no"],
  "runs round": ["runs round RUN 1", "runs round RUN 9 --json", "runs round RUN first"],
  "runs cancel": ["runs cancel RUN", "runs cancel UNKNOWN --json"],
  "requests list": ["requests list --code nonsense", "requests list --status 9"],
  "requests show": ["requests show nothing"],
  "requests follow": ["requests follow --status 9"],
  "approvals list": ["approvals list", "approvals list --status pending --json"],
  "approvals show": ["approvals show APPROVAL", "approvals show APPROVAL --json"],
  "approvals link": ["approvals link APPROVAL --for Desk", "approvals link UNKNOWN --for Desk"],
  "approvals approve": ["approvals approve APPROVAL --reason Fine", "approvals approve REJECTED"],
  "approvals reject": ["approvals reject REJECTED", "approvals reject APPROVAL"],
  "tools list": ["tools list", "tools list --json"],
  "tools servers": ["tools servers", "tools servers --json"],
  "tools server": ["tools server UNKNOWN"],
  "tools refresh": ["tools refresh UNKNOWN --json"],
  "tools risk": [
    "tools risk send_letter read --account default",
    "tools risk send_letter low --account default",
  ],
  "tools changes": ["tools changes send_letter --account default"],
  "tools accept": [
    "tools accept send_letter 1 --account default",
    "tools accept send_letter x --account default",
  ],
  "tools show": ["tools show send_letter --account default", "tools show send --account default"],
  "tools disable": ["tools disable send_letter --account default"],
  "tools enable": ["tools enable send_letter --account default --json"],
  "connections list": ["connections list", "connections list --json"],
  "connections create": ["connections create post --account default", "connections create post"],
  "connections set-secret": ["connections set-secret CONNECTION --host api.example.com"],
  "connections delete": ["connections delete CONNECTION"],
  "triggers list": ["triggers list", "triggers list --json"],
  "triggers show": ["triggers show TRIGGER", "triggers show TRIGGER --json"],
  "triggers fires": ["triggers fires TRIGGER", "triggers fires UNKNOWN"],
  "triggers pause": ["triggers pause TRIGGER"],
  "triggers resume": ["triggers resume TRIGGER --json"],
  "triggers fire": ["triggers fire UNKNOWN", "triggers fire UNKNOWN --json"],
  "triggers rotate": ["triggers rotate TRIGGER", "triggers rotate UNKNOWN --overlap soon"],
  "webhooks create": [
    "webhooks create --account default --url https://a.example.com/in --events run.failled",
    "webhooks create --account default",
  ],
  "webhooks list": ["webhooks list", "webhooks list --json"],
  "webhooks deliveries": ["webhooks deliveries ENDPOINT", "webhooks deliveries UNKNOWN --json"],
  "webhooks replay": ["webhooks replay UNKNOWN"],
  "webhooks show": ["webhooks show ENDPOINT", "webhooks show ENDPOINT --json"],
  "webhooks attempts": ["webhooks attempts UNKNOWN", "webhooks attempts UNKNOWN --json"],
  "webhooks recover": [
    "webhooks recover ENDPOINT --since 2027-01-05 --until 2027-01-06",
    "webhooks recover ENDPOINT --since 2027-01-05 --until 2027-01-06 --count",
  ],
  "webhooks test": ["webhooks test UNKNOWN"],
  "webhooks enable": ["webhooks enable ENDPOINT", "webhooks enable UNKNOWN"],
  "models list": ["models list", "models list --json"],
  "models traffic": ["models traffic", "models traffic --json"],
  "models services": ["models services --xml"],
  // Only a server can do it, so only the usage is the same.
  "models start": ["models start"],
  "models stop": ["models stop"],
  "models probe": ["models probe http://127.0.0.1:1", "models probe ftp://x"],
  "models off": ["models off outside", "models off out"],
  "models on": ["models on outside --json"],
  "models block": ["models block stub-1"],
  "models unblock": ["models unblock stub-1", "models unblock svc"],
  usage: [
    "usage",
    "usage --by account,model --month 2026-11 --zone Asia/Riyadh",
    "usage --by agent,version --csv",
    "usage --by model --json",
    "usage --from 2027-02-01 --to 2027-01-01",
  ],
  find: ["find Clerk", "find Clerk --json"],
  status: ["status", "status --json"],
  config: ["config", "config --json"],
  resume: ["resume", "resume --json"],
  "secrets rotate": ["secrets rotate"],
  sweep: ["sweep", "sweep --now", "sweep --now --json"],
  "processes list": ["processes list --json"],
  "processes drain": ["processes drain 999", "processes drain first"],
  "processes undrain": ["processes undrain 999", "processes undrain 0"],
  reload: ["reload --json"],
  openapi: ["openapi"],
  version: ["version", "version --json"],
};

/** Runs a line with the ids in place of their names. */
function run(line: string, options: RunOptions = {}, ...more: string[]) {
  const words = line.split(" ").map((word) => ({ UNKNOWN, ...ids })[word] ?? word);
  const perform = COMPILED.includes(words[0]!) ? room.run : room.perform;
  return perform([...words, ...more], { stdin: "s3cret-text", ...options });
}

const remotely = () => ({ env: { WADI_OPERATOR_TOKEN: token } });

/** Replaces what only a server knows: its start, and the replicas that are healthy. */
function forgetServer(text: string): string {
  return text
    .replace(/"server":\{[^}]*\}/, '"server":null')
    .replace(/^server .*$/m, "server")
    .replaceAll(/"(healthy_replicas|open_streams|can_stop|waiting)":(?:\d+|false)/g, '"$1":null')
    .replaceAll(/"servers":\[[^\]]*\]/g, '"servers":null')
    .replaceAll(/1 of 1 replica healthy/g, "1 replica")
    .replaceAll("1/1", "1  ")
    .replaceAll(/^(healthy_replicas|open_streams|can_stop|waiting): (?:\d+|false)$/gm, "$1: -");
}

/** Replaces what differs between two performances: fresh ids, secrets, attempts and the time. */
function normalise(text: string): string {
  return (
    forgetServer(text)
      .replaceAll(/(?:svc_sk|wadi_op|wadi_approval)_\w+/g, "SECRET")
      .replaceAll(/127\.0\.0\.1:\d+(?=\/console)/g, "SERVER")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID")
      // The server goes on sending what waits.
      .replaceAll(/\bpending( +)\d+/g, "pending$1N")
      .replaceAll(/"attempt_count":\d+/g, '"attempt_count":N')
      .replaceAll(/(started_by(?:_operator)?"?: ?"?)\w+/g, "$1WHO")
      .replaceAll(/((?:queued|worked|waited)_ms"?: ?)\d+/g, "$1N")
      .replaceAll(/[\d.]+ (MB free|KB|MB|GB|ms)/g, "N $1")
      .replaceAll(/"(bytes|wal_bytes|free_disk_bytes|deliveries)":\d+/g, '"$1":N')
  );
}

test("a server tells its own status and settings", async () => {
  const options = ["--server", server.url];
  const status = await run("status", remotely(), ...options);
  expect(status.stdout).toMatch(/^server +started .+ ago$|^server +started now$/m);
  expect(status.stdout).toMatch(/^model +stub-1: on, 1 of 1 replica healthy$/m);
  const config = await run("config --json", remotely(), ...options);
  const rows = JSON.parse(config.stdout) as Json[];
  expect(rows).toContainEqual({
    ...{ name: "limits.requests_per_minute", value: 1_000_000, origin: "environment" },
    needs_restart: false,
  });
});

test("every command has a line here, unless it is local by nature", async () => {
  const names = (await loadAllCommands()).map(({ name }) => name);
  expect(Object.keys(LINES).toSorted()).toEqual(
    names.filter((name) => !LOCAL.includes(name)).toSorted(),
  );
});

for (const [name, lines] of Object.entries(LINES)) {
  test(`wadi ${name} prints the same bytes on local files and through a server`, async () => {
    for (const line of lines) {
      // The first performance may change something, later ones find it changed.
      if (!COMPILED.includes(name)) await run(line);
      const local = await run(line, { env: SETTINGS_ENV });
      const remote = await run(line, remotely(), "--server", server.url);
      const show = (ended: typeof local) => ({
        ...ended,
        stdout: normalise(ended.stdout),
        stderr: normalise(ended.stderr),
      });
      expect(show(remote), line).toEqual(show(local));
    }
  });
}

describe("the server of a command", () => {
  test("stands before or behind the command, or in the environment", async () => {
    const { code, stdout } = await run("keys list --json", remotely(), "--server", server.url);
    expect([code, Array.isArray(JSON.parse(stdout))]).toEqual([0, true]);
    const cwd = join(room.directory, "elsewhere");
    mkdirSync(cwd);
    for (const before of [["--server", server.url], [`--server=${server.url}/`]]) {
      const options = { ...remotely(), cwd };
      expect((await room.perform([...before, "keys", "list", "--json"], options)).stdout).toBe(
        stdout,
      );
    }
    const env = { ...remotely().env, WADI_SERVER_URL: server.url };
    expect((await room.perform(["keys", "list", "--json"], { env, cwd })).stdout).toBe(stdout);
  });

  test("without a token is an error that says how to keep one", async () => {
    const { code, stderr } = await run("keys list", {}, "--server", server.url);
    expect([code, stderr]).toEqual([
      1,
      `wadi: there is no token for ${server.url}: keep one with \`wadi login ${server.url}\`, ` +
        "or set WADI_OPERATOR_TOKEN\n",
    ]);
  });

  test("that is away, or no Wadi, is an error with its address", async () => {
    const away = await run("keys list", remotely(), "--server", "http://127.0.0.1:1");
    expect(away.code).toBe(1);
    expect(away.stderr).toStartWith("wadi: http://127.0.0.1:1 cannot be reached: ");
    const wrong = await run("keys list", remotely(), "--server", `${server.url}/v1`);
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      `wadi: ${server.url}/v1 has no operator API for this client: it answered 404\n`,
    ]);
    for (const url of ["nonsense", "ftp://x", "http://u:p@x"]) {
      const { code, stderr } = await run("keys list", remotely(), "--server", url);
      expect([code, stderr]).toEqual([
        2,
        "wadi: a server is given as http://HOST:PORT or https://HOST\n",
      ]);
    }
  });

  test("gets a token by `wadi login`, which changes no default", async () => {
    const login = await room.perform(["login", `${server.url}/`], { stdin: `${token}\n` });
    expect([login.code, login.stderr]).toEqual([
      0,
      `commands with \`--server ${server.url}\` use it; others keep using local files\n`,
    ]);
    const file = join(room.directory, ".config/wadi/servers.json");
    expect(login.stdout).toBe(`server: ${server.url}\nfile: ${file}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await run("keys list", {}, "--server", server.url)).code).toBe(0);
    const local = await room.perform(["keys", "list", "--data", "./nowhere"]);
    expect(local.stderr).toContain("there is no database in ./nowhere");
    const env = { WADI_SERVER__PORT: new URL(server.url).port };
    const beside = await room.perform(["keys", "list", "--data", "./nowhere"], { env });
    expect(beside.stderr).toContain(
      `but a server runs at ${server.url}: add --server ${server.url}`,
    );
    const refused = await room.perform(["login", server.url], { stdin: "wadi_op_wrong" });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      "wadi: The operator token is unknown, revoked or expired.\n",
    ]);
    // The refused token does not replace the one before.
    expect((await run("keys list", {}, "--server", server.url)).code).toBe(0);
  });

  test("gets no token that is kept for another server", async () => {
    await room.perform(["login", server.url], { stdin: token });
    // Not on this machine, where the token of `wadi dev` is tried.
    const other = "http://192.0.2.1:1";
    const { code, stderr } = await run("keys list", {}, "--server", other);
    expect(code).toBe(1);
    expect(stderr).toStartWith(`wadi: there is no token for ${other}: `);
  });

  test("writes no settings file", async () => {
    const line = "models probe http://127.0.0.1:1 --write";
    const { code, stderr } = await run(line, remotely(), "--server", server.url);
    expect([code, stderr]).toEqual([2, "wadi: --write changes a local file: drop --server\n"]);
  });
});

test("a decision through the API names the operator", async () => {
  const { pending_approvals, id } = await start(search("three"), "waiting_approval");
  const line = `approvals reject ${pending_approvals[0]} --reason No --json`;
  const { stdout } = await run(line, remotely(), "--server", server.url);
  const decided_by = { kind: "operator", id: "noura" };
  expect(JSON.parse(stdout)).toMatchObject({ status: "rejected", decided_by });
  expect(await look(`/v1/approvals/${pending_approvals[0]}`)).toMatchObject({
    decided_by,
    run_id: id,
  });
});

test("`wadi dev` in memory is looked at with the token that it prints, or with none", async () => {
  const dev = await room.serve(["dev", "--port", "0"]);
  const asked = await fetch(`${dev.url}/console/session`);
  const { error } = (await asked.json()) as { error: { message: string } };
  // The way in that its sign-in page names.
  const [program, ...words] = /`(.+)`/.exec(error.message)![1]!.split(" ");
  expect(words).toEqual(["console", "--server", dev.url]);
  const link = await room.run(words, { command: [program!] });
  expect(link.stdout).toStartWith(`${dev.url}/console/#wadi_link_`);
  const line = dev.banner.find((one) => one.startsWith("keys"))!;
  const found = /operator token (\S+)$/.exec(line)![1]!;
  const env = { WADI_OPERATOR_TOKEN: found };
  const { stdout } = await room.perform(["accounts", "list", "--json", "--server", dev.url], {
    env,
  });
  expect((JSON.parse(stdout) as Json[]).map(({ name }) => name)).toEqual(["dev", "other"]);
});
