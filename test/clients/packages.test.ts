// The packages of `bun run clients`, by which programs talk to the compiled program.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packPython, WHEEL } from "../../scripts/clients/python.ts";
import { packTypescript } from "../../scripts/clients/typescript.ts";
import { readDocument } from "../../scripts/clients.ts";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import { type Language, registerClients } from "../support/clients.ts";
import { openFlakyProxy } from "../support/flaky-proxy.ts";
import { findClosedPort } from "../support/ports.ts";
import { openWebhookReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";
import { ANNOTATIONS, PYTHON, type Task, TYPESCRIPT } from "./package-programs.ts";

const LINES_MAX = 300;
const hasPip =
  Bun.which("python3") !== null && Bun.spawnSync(["python3", "-m", "pip", "--version"]).success;
const ASKS = '!tool memory_set {"key":"tone","content":"Friendly"}\n!next\n!say Noted.';

let room: Room;
let server: Server;
let receiver: WebhookReceiver;
let agent: string;
beforeAll(async () => {
  room = openRoom();
  receiver = openWebhookReceiver();
  const allowed = ["--allow-egress", receiver.host];
  // It starts again there, and the system may assign another port to others in between.
  const port = String(findClosedPort());
  server = await room.serve(["dev", "--port", port, "--data", "./data", ...allowed]);
  agent = await createAgent("Noter");
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await room.close();
});
const packages = registerClients(() => room);

async function post<T>(path: string, body: object): Promise<T> {
  const reply = await server.ask("POST", path, { body });
  expect(reply.ok).toBe(true);
  return (await reply.json()) as T;
}

async function createAgent(name: string): Promise<string> {
  const body = { name, system_prompt: "Be brief.", tools: ["memory_set", "calculator"] };
  return (await post<{ id: string }>("/v1/agents", body)).id;
}

const startRun = async (message: string) =>
  (await post<{ id: string }>(`/v1/agents/${agent}/runs`, { input: { message } })).id;

const programs: Record<Language, string> = { typescript: TYPESCRIPT, python: PYTHON };
const write = (task: Task) =>
  JSON.stringify({ base: `${server.url}/v1`, key: server.key, ...task });
const startTask = (language: Language, task: Task) =>
  packages().start(language, programs[language], `${write(task)}\n`);
/** One program for each language, since a start takes longer than what it is asked. */
const running: Partial<Record<Language, (line: string) => Promise<string>>> = {};
const perform = async (language: Language, task: Task): Promise<unknown> => {
  running[language] ??= packages().converse(language, programs[language]);
  return JSON.parse(await running[language](write(task))).result;
};

/** Answers every request alike, and counts them. */
function openRefuser(status: number, code: string, headers: Record<string, string> = {}) {
  const came: string[] = [];
  const body = { error: { message: "No.", type: "server_error", code, param: null } };
  const refuser = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    fetch(request) {
      came.push(request.headers.get("idempotency-key") ?? "");
      return Response.json(body, { status, headers });
    },
  });
  const base = `http://127.0.0.1:${refuser.port}`;
  return { came, base, [Symbol.asyncDispose]: () => refuser.stop(true) };
}

test("the program has types for all that it uses, and they refuse what the server would", async () => {
  const mistakes = [
    "await wadi.startRun({ id: 'x' });",
    "await wadi.listRuns({ status: 'done' });",
    "await wadi.createChatCompletion({ body: {} });",
    "await wadi.receiveHook({ trigger_id: 'x' });",
  ];
  const head = 'import { createWadi } from "@wadi/client";';
  const made = `const wadi = createWadi({ baseUrl: "", key: "" });`;
  const wrong = [`${head} ${made}`, ...mistakes].join("\n");
  const [none, errors] = await packages().check(TYPESCRIPT, wrong);
  expect(none).toEqual([]);
  const lines = new Set(errors!.map((line) => Number(/\((\d+),/.exec(line)?.[1])));
  expect([...lines]).toEqual([2, 3, 4, 5]);
});

test("each package has at most 300 lines that are written by hand", () => {
  for (const file of ["typescript/client.ts", "python/client.py"]) {
    const text = readFileSync(join(import.meta.dir, "../../scripts/clients", file), "utf8");
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    expect(lines.length).toBeLessThanOrEqual(LINES_MAX);
  }
});

test.skipIf(Bun.which("python3") === null)("each Python annotation names a type", async () => {
  const { code, stdout, stderr } = await packages().run("python", ANNOTATIONS);
  expect([code, stderr]).toEqual([0, ""]);
  expect(Number(stdout)).toBeGreaterThan(200);
});

test.skipIf(!hasPip)("the wheel is installed without a network", async () => {
  const wheel = join(room.directory, WHEEL);
  await packPython(wheel, readDocument());
  const target = join(room.directory, "installed");
  const options = ["--no-index", "--no-deps", "--disable-pip-version-check", "--target", target];
  const pip = ["-m", "pip", "install", "--quiet", ...options, wheel];
  expect(await room.run(pip, { command: ["python3"] })).toMatchObject({ code: 0 });
  const program = "import wadi_client; print(wadi_client.__file__)";
  const env = { PYTHONPATH: target };
  const { stdout } = await room.run(["-c", program], { command: ["python3"], env });
  expect(stdout.trim()).toBe(join(target, "wadi_client/__init__.py"));
});

test.skipIf(Bun.which("npm") === null)("the npm package has no dependencies", async () => {
  const folder = packages().folder("typescript");
  await packTypescript(folder);
  const [name = ""] = new Bun.Glob("*.tgz").scanSync(join(folder, ".."));
  const listed = await room.run(["-tzf", join(folder, "..", name)], { command: ["tar"] });
  const code = ["api.d.ts", "client.d.ts", "client.js", "operations.d.ts", "operations.js"];
  const files = [...code, "LICENSE", "README.md", "package.json"];
  const wanted = files.map((file) => `package/${file}`).sort();
  expect(listed.stdout.trim().split("\n").sort()).toEqual(wanted);
  const manifest = await Bun.file(join(folder, "package.json")).json();
  expect(manifest).not.toHaveProperty("dependencies");
  expect(manifest).not.toHaveProperty("scripts");
});

const languages: readonly Language[] = ["typescript", "python"];
describe.each(languages)("the client in %s", (language) => {
  const isMissing = language === "python" && Bun.which("python3") === null;
  const it = test.skipIf(isMissing);

  it("answers a chat", async () => {
    expect(await perform(language, { do: "chat" })).toBe("You said: Hello");
  });

  it("streams a chat in parts", async () => {
    const parts = (await perform(language, { do: "stream", message: "Hello" })) as string[];
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.join("")).toBe("You said: Hello");
  });

  it("raises the failure that a stream ends with", async () => {
    const told = await perform(language, { do: "stream", message: "!cut" });
    expect(told).toMatchObject({ status: 0, code: "upstream_error" });
  });

  it("follows a run over reconnects, and gives each frame once", async () => {
    const run = await startRun('!tool calculator {"expression":"6*7"}\n!next\n!say Done.');
    const whole = (await perform(language, { do: "follow", run })) as string[];
    const steps = ["1 assistant", "2 tool_call", "3 tool_result", "4 assistant"];
    // What it is told first is the status at that time.
    const isStatus = (line: string) => /^(queued|running|succeeded)$/.test(line);
    expect(whole.filter((line) => !isStatus(line))).toEqual([...steps, "Done."]);
    await using proxy = await openFlakyProxy(server.url);
    const ways = ["end", "break"] as const;
    proxy.cuts.push(...[0, 1, 2, 3, 4].flatMap((frames) => ways.map((by) => ({ frames, by }))));
    proxy.cuts.push({ frames: 5, by: "silence" });
    const rebuilt = await perform(language, { do: "follow", run, base: proxy.url, idle: 500 });
    expect(rebuilt).toEqual(["succeeded", ...steps, "Done."]);
    expect(proxy.requests.get(`GET /v1/runs/${run}/events`)).toBeGreaterThanOrEqual(12);
  });

  it("follows a run over kill -9 and a start of the server", async () => {
    const run = await startRun(ASKS);
    const following = startTask(language, { do: "follow", run });
    await following.said("waiting_approval");
    server.signal("SIGKILL");
    await server.exited;
    const { port } = new URL(server.url);
    const allowed = ["--allow-egress", receiver.host];
    server = await room.serve(["dev", "--port", port, "--data", "./data", ...allowed]);
    const key = `${server.key}-approver`;
    expect(await perform(language, { do: "decide", key })).toBe(1);
    const { code, stdout, stderr } = await following.ended;
    expect([code, stderr]).toEqual([0, ""]);
    const { result } = JSON.parse(stdout.trimEnd().split("\n").at(-1)!) as { result: string[] };
    const seqs = result.flatMap((line) => /^\d+(?= )/.exec(line) ?? []);
    expect(seqs).toEqual(["1", "2", "3", "4", "5", "6"]);
    const asked = ["approval.requested memory_set", "approval.decided memory_set"];
    expect(result.filter((line) => line.startsWith("approval."))).toEqual(asked);
    expect(result.at(-1)).toBe("Noted.");
  });

  it("gives the text of a reply while the model writes it", async () => {
    const run = await startRun(ASKS.replace("Noted.", "It is noted from now on."));
    const approver = `${server.key}-approver`;
    const told = await perform(language, { do: "live", run, approver });
    expect(told).toEqual(["It is noted from now on."]);
  });

  it("lists runs by their metadata", async () => {
    const input = { message: "!say One." };
    const metadata = { ticket: `A&17 ${language}` };
    const { id } = await post<{ id: string }>(`/v1/agents/${agent}/runs`, { input, metadata });
    await startRun("!say Two.");
    expect(await perform(language, { do: "list", message: metadata.ticket })).toEqual([id]);
  });

  it("starts one run for two starts with one idempotency key", async () => {
    const task: Task = { do: "start", agent, message: "!say One.", idempotency_key: language };
    expect(await perform(language, task)).toBe(await perform(language, task));
  });

  it("starts one run where the reply to the first attempt is lost", async () => {
    const own = await createAgent("Once");
    await using proxy = await openFlakyProxy(server.url);
    proxy.lost = 1;
    const task: Task = { do: "start", agent: own, message: "!say One.", base: proxy.url };
    const id = await perform(language, task);
    expect(proxy.requests.get(`POST /v1/agents/${own}/runs`)).toBe(2);
    const list = await (await server.ask("GET", `/v1/agents/${own}/runs`)).json();
    expect((list as { data: { id: unknown }[] }).data.map((one) => one.id)).toEqual([id]);
  });

  it("makes an idempotency key for each start, the same on its retries", async () => {
    await using refuser = openRefuser(503, "service_unavailable");
    const { base, came } = refuser;
    const task: Task = { do: "start", agent, message: "Hello", base };
    expect(await perform(language, task)).toMatchObject({ status: 503 });
    await perform(language, task);
    expect(came).toEqual([0, 0, 0, 3, 3, 3].map((i) => came[i]!));
    expect(new Set(came).size).toBe(2);
    expect(came[0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("waits as long as Retry-After says, and not its own wait of an hour", async () => {
    await using refuser = openRefuser(429, "rate_limit_exceeded", { "retry-after": "1" });
    const { base, came } = refuser;
    const told = await perform(language, { do: "chat", base, delay: 3_600_000 });
    expect(told).toEqual({ status: 429, code: "rate_limit_exceeded", retry_after: 1 });
    expect(came).toHaveLength(3);
  });

  it("raises the error at once where Retry-After is longer than it may wait", async () => {
    await using refuser = openRefuser(429, "daily_runs_limit", { "retry-after": "7200" });
    const { base, came } = refuser;
    const told = await perform(language, { do: "create", base });
    expect(told).toEqual({ status: 429, code: "daily_runs_limit", retry_after: 7200 });
    expect(came).toHaveLength(1);
  });

  it.each([
    ["a chat after 502", "chat", 502, "upstream_error", {}, 3],
    ["an agent that may have been made", "create", 502, "upstream_error", {}, 1],
    ["an agent refused by the rate limit", "create", 429, "rate_limited", {}, 3],
    ["a chat with x-should-retry: false", "chat", 502, "x", { "x-should-retry": "false" }, 1],
    ["a chat with a model that stays away", "chat", 503, "model_unavailable", {}, 1],
    ["an invalid chat", "chat", 400, "invalid_request", {}, 1],
  ] as const)("sends %s as often as it helps", async (_, what, status, code, headers, times) => {
    await using refuser = openRefuser(status, code, headers);
    const { base, came } = refuser;
    expect(await perform(language, { do: what, base })).toMatchObject({ status, code });
    expect(came).toHaveLength(times);
  });

  it("verifies a webhook, and refuses a forged one", async () => {
    const url = receiver.url.replace(/hook$/, language);
    const { secret } = await post<{ secret: string }>("/v1/webhooks", {
      url,
      events: ["run.completed"],
    });
    await startRun("!say One.");
    const arrived = await untilArrived(language);
    const headers = Object.fromEntries(arrived.headers);
    const task: Task = { do: "verify", secret, headers, body: arrived.text };
    expect(await perform(language, task)).toBe("run.completed succeeded");

    const both = `v1,${"A".repeat(43)}= ${headers["webhook-signature"]}`;
    const rotated = { ...task, headers: { ...headers, "webhook-signature": both } };
    expect(await perform(language, rotated)).toBe("run.completed succeeded");

    const wrong = { refused: "Its signature is wrong." };
    const other = `whsec_${Buffer.from("another secret of 32 bytes long!").toString("base64")}`;
    const time = `${Number(headers["webhook-timestamp"]) - 1}`;
    for (const forged of [
      { body: arrived.text.replace("succeeded", "cancelled") },
      { secret: other },
      { headers: { ...headers, "webhook-id": "another" } },
      { headers: { ...headers, "webhook-timestamp": time } },
      { headers: { ...headers, "webhook-signature": "" } },
      { headers: { ...headers, "webhook-signature": `v1,${"A".repeat(43)}=` } },
    ]) {
      expect(await perform(language, { ...task, ...forged })).toEqual(wrong);
    }
    const old = { ...headers, "webhook-timestamp": "1" };
    const late = { refused: "Its time is not now." };
    expect(await perform(language, { ...task, headers: old })).toEqual(late);
  });
});

/** Resolves with the first webhook at a path. */
async function untilArrived(path: string) {
  for (let count = 1; ; count++) {
    const arrivals = await receiver.came(count);
    const found = arrivals.find((one) => one.path === `/${path}`);
    if (found) return found;
  }
}
