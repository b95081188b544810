// Every command of every page works: each page runs as one shell script. Commands that need the
// reader's model servers must at least be valid.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executable } from "../../scripts/build.ts";
import { findCommand, readArguments } from "../../src/cli/arguments.ts";
import { loadAllCommands } from "../../src/cli/families.ts";
import { writeForTerminal } from "../../src/cli/help.ts";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import { findPage, pages, readBlock, readCommands, readme } from "../support/documents.ts";
import { followRun } from "../support/follow-run.ts";
import { findClosedPort } from "../support/ports.ts";

/** Pages whose commands have a test file of their own. */
const OWN_TESTS = ["quickstart"];
/** Commands that need the reader's model servers, or that serve until they are stopped. */
const NOT_RUN = [
  "wadi init",
  "wadi models probe http://10.0.0.5:8000 --write",
  "wadi check",
  "wadi serve",
  "wadi serve --takeover",
  "wadi upgrade",
  "wadi dev --config wadi.toml --record talk.jsonl",
  "wadi dev --config wadi.toml --replay talk.jsonl",
  "wadi webhooks attempts $DELIVERY",
  "wadi webhooks replay $DELIVERY",
  "wadi requests follow --status 5xx",
  "wadi move --to postgres://wadi@db.example/wadi",
  "wadi move --to ./wadi-data",
];
/** Ids that a page speaks of and does not set itself, and how the test finds them. */
const IDS: Record<string, string> = {
  AGENTS_KEY: `wadi keys list --account dev --json | grep -o '"id":"[^"]*' | tail -1 | cut -c7-`,
  AGENT: `ask /agents -d '{"name":"Any","system_prompt":"Any."}' | first_id`,
  APPROVAL: "wadi approvals list --status pending --json | first_id",
  CONNECTION: "wadi connections list --json | first_id",
  KEY_ID: "wadi keys list --json | first_id",
  WEBHOOK: "wadi webhooks list --json | first_id",
};

let room: Room;
/** Performs what the shells of pages call, since a start of the program costs more than a call. */
let performer: Bun.Server<undefined>;
beforeAll(() => {
  room = openRoom();
  performer = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: perform });
  writeFileSync(join(room.directory, "orders.secret"), "s3cret-of-orders");
});
afterAll(async () => {
  await performer.stop(true);
  await room.close();
});

/** A call is its directory, the number of its arguments, these, and its input. */
async function perform(request: Request): Promise<Response> {
  const [cwd, count, ...rest] = (await request.text()).split("\0");
  const args = rest.splice(0, Number(count));
  const call = () => room.perform(args, { cwd, stdin: rest.join("\0") });
  let ended = await call();
  // The server writes the rows of requests behind its replies.
  while (ended.stderr.includes("there is no request ")) ended = await call();
  const { code, stdout, stderr } = ended;
  return new Response(code === 0 ? stdout : `${stdout}${stderr}`, {
    status: code === 0 ? 200 : 500,
  });
}
const callPerformer = () => `wadi() {
  { printf '%s\\0' "$PWD" $# "$@"; cat; } |
    curl -sS --fail-with-body --data-binary @- ${performer.url}
}`;
/** README's shells, and those of the quickstart, start the program that is built. */
const START = `wadi() { ${executable()} "$@"; }`;

const [words = ""] = readCommands(findPage("quickstart"), "Run an agent");
const URL_SHOWN = "http://127.0.0.1:8080";

/** Returns a shell script of these blocks, in which a failed command ends it. */
function writeScript(blocks: readonly string[], url: string, wadi = callPerformer()): string {
  const lines = blocks.join("\n").split("\n");
  const known = new Set<string>();
  const body = lines
    .filter((line) => !NOT_RUN.includes(line))
    .flatMap((line) => {
      for (const [, name] of line.matchAll(/^([A-Z_]+)=/g)) known.add(name!);
      const wanted = [...line.matchAll(/\$([A-Z_]+)/g)].map(([, name]) => name!);
      const finding = wanted.filter((name) => name in IDS && !known.has(name));
      for (const name of finding) known.add(name);
      return [...finding.map((name) => `${name}=$(${IDS[name]})`), line];
    });
  return ["set -eu", wadi, words, ...body]
    .join("\n")
    .replaceAll(URL_SHOWN, url)
    .replaceAll("--account default", "--account dev");
}

async function runScript(blocks: readonly string[], url: string, cwd: string, wadi?: string) {
  const script = writeScript(blocks, url, wadi);
  const ended = await room.run(["-c", script], { command: ["/bin/sh"], cwd });
  // Advice and progress on stderr are accepted; stderr is shown when a command fails.
  expect(ended.code === 0 ? "" : `${ended.stdout}${ended.stderr}`).toBe("");
  expect(ended.code).toBe(0);
  expect(ended.stdout).not.toContain('{"error":');
  return ended.stdout;
}

const shellOf = (name: string) =>
  findPage(name).blocks.flatMap(({ language, text }) => (language === "sh" ? [text] : []));

describe.skipIf(Bun.which("curl") === null)("commands beside a server", () => {
  let server: Server;
  let cwd: string;
  beforeAll(async () => {
    cwd = join(room.directory, "beside");
    mkdirSync(cwd);
    await Bun.write(join(cwd, "orders.secret"), "s3cret-of-orders");
    const args = ["dev", "--port", "0", "--data", "./wadi-data"];
    server = await room.serve(args, { cwd });
    expect((await room.perform(["accounts", "create", "default"], { cwd })).code).toBe(0);
  });

  test("chat: deep thinking counts the tokens of all attempts", async () => {
    const stdout = await runScript(shellOf("chat"), server.url, cwd);
    const shown = JSON.parse(readBlock(findPage("quickstart"), "The reply (id and time differ)"));
    const total_tokens = 3 * shown.usage.total_tokens;
    expect(JSON.parse(stdout).usage).toMatchObject({ total_tokens });
  });

  test("backup: a copy is restored beside the running original", async () => {
    const stdout = await runScript(shellOf("backup"), server.url, cwd);
    expect(stdout).toMatch(/^wadi\.backup: \d+ rows, .* KB\n.*copy: \d+ rows of /);
  });

  test("services: embeddings and search reply as shown", async () => {
    const [embed, search] = shellOf("services");
    const { data } = JSON.parse(await runScript([embed!], server.url, cwd));
    expect(data.map((one: { embedding: number[] }) => one.embedding.length)).toEqual([1024, 1024]);
    const found = JSON.parse(await runScript([search!], server.url, cwd));
    expect(found).toMatchObject({ object: "list", query: "retry after" });
    const fields = Object.keys(found.data[0]).map((name) => `"${name}":`);
    expect(findPage("services").text).toMatch(new RegExp(`${fields.join("[^,}]+,")}…\\}`));
  });

  test("messages: a message and a count of its tokens", async () => {
    const [message, count] = shellOf("messages");
    const { content, usage } = JSON.parse(await runScript([message!], server.url, cwd));
    expect(content).toMatchObject([{ text: "You said: Hello" }]);
    const { input_tokens } = usage;
    expect(JSON.parse(await runScript([count!], server.url, cwd))).toEqual({ input_tokens });
  });

  test("mcp-server: an exposed agent answers as a tool", async () => {
    const stdout = await runScript(shellOf("mcp-server"), server.url, cwd);
    const { result } = JSON.parse(stdout.slice(stdout.lastIndexOf("data: ") + "data: ".length));
    expect(result.content).toEqual([{ type: "text", text: "You said: Hello" }]);
  });

  test("requests: the explanation is the one shown", async () => {
    const stdout = await runScript(shellOf("requests"), server.url, cwd);
    const sentences = (text: string) =>
      text
        .split("\n")
        .filter((line) => line.startsWith("  "))
        .map((line) => line.replace(/[0-9a-f]{8}(-[0-9a-f-]{27})?|[\d.]+ ms/g, "…"));
    const shown = readBlock(findPage("requests"), "one sentence for each decision");
    expect(sentences(stdout)).toEqual(sentences(shown));
    expect(stdout).toContain("  order-17 ");
  });

  test("approvals: the preview asks, and a waiting call is rejected", async () => {
    const body = { name: "Waits", system_prompt: "Wait.", tools: ["memory_set"] };
    const agent = await (await server.ask("POST", "/v1/agents", { body })).json();
    const call = '!tool memory_set {"key":"tone","content":"Friendly"}\n!next\n!say Done.';
    const path = `/v1/agents/${(agent as { id: string }).id}/runs`;
    const run = await server.ask("POST", path, { body: { input: { message: call } } });
    await untilWaiting(server, ((await run.json()) as { id: string }).id);
    const stdout = await runScript(shellOf("approvals"), server.url, cwd);
    expect(stdout).toContain('"effect":"asks"');
    expect(stdout).toContain("Wrong recipient.");
  });

  for (const [name, shown] of [
    ["responses", '"text":"You said: Hello"'],
    ["agents", '"output":{"message":"One."}'],
    ["evaluation", "1 of 1 passed"],
    ["tools", '"effect":"asks"'],
    ["triggers", '"upcoming":['],
    ["webhooks", "https://hooks.example.com/wadi"],
    ["operators", '"hold_reason":null'],
    ["budgets", '"object":"usage"'],
    ["console", "You said: Hello"],
  ] as const) {
    test(`${name}: its commands work`, async () => {
      expect(await runScript(shellOf(name), server.url, cwd)).toContain(shown);
    });
  }

  test("triggers: the schedule shown fires on mornings in Riyadh", async () => {
    const reply = await server.ask("GET", "/v1/triggers");
    const { data } = (await reply.json()) as { data: { upcoming: string[] }[] };
    expect(data[0]!.upcoming.map((at) => at.slice(10))).toEqual(Array(3).fill("T06:30:00.000Z"));
  });
});

test.skipIf(Bun.which("curl") === null)(
  "commands of models, deployment, data and monitoring work without a server",
  async () => {
    const cwd = join(room.directory, "alone");
    mkdirSync(cwd);
    await Bun.write(join(cwd, "wadi.toml"), readBlock(findPage("models"), "with one model on two"));
    expect((await room.perform(["accounts", "create", "default"], { cwd })).code).toBe(0);
    for (const name of ["deployment", "models", "data", "monitoring", "upgrade"])
      await runScript(shellOf(name), "", cwd);
  },
  120_000,
);

test.skipIf(Bun.which("curl") === null)(
  "README: the five-minute session works, pasted line by line",
  async () => {
    const cwd = join(room.directory, "readme");
    mkdirSync(cwd);
    const port = findClosedPort();
    const allowed = ["--allow-egress", `127.0.0.1:${port}`];
    const server = await room.serve(["dev", "--port", "0", "--data", "./try", ...allowed], { cwd });
    const [functions, chat, run, wait, approve, webhook] = readCommands(readme, "Five minutes");
    expect(functions).toBe(words);
    const listen = webhook!
      .replaceAll("127.0.0.1:4400", `127.0.0.1:${port}`)
      .replace("wadi listen", `${executable()} listen --port ${port}`)
      // A person pastes more slowly than it starts; a delivery before it would be tried again later.
      .replace(/ &$/m, ` &\nuntil curl -so /dev/null http://127.0.0.1:${port}; do :; done`);
    const first = await runScript(
      [chat!, `${run!}\necho "id: $AGENT"`, wait!, 'echo "run: $RUN"'],
      server.url,
      cwd,
      START,
    );
    expect(first).toContain("You said: Hello");
    expect(first).toContain("12.5 % of 80 is 10.");
    const [, agent] = /^id: (.+)$/m.exec(first)!;
    const [, waiting] = /^run: (.+)$/m.exec(first)!;
    await untilWaiting(server, waiting!);
    const decided = await runScript([`RUN=${waiting}`, approve!], server.url, cwd, START);
    expect(decided).toContain('"output":{"message":"Noted."}');
    const script = writeScript(
      [`AGENT=${agent}`, listen, 'echo "listener: $!"', "wait"],
      server.url,
      START,
    );
    const shell = room.start(["-c", script], { command: ["/bin/sh"], cwd });
    const [, listener] = /listener: (\d+)/.exec(await shell.said("listener: "))!;
    await shell.said("  verified  run.completed  ");
    process.kill(Number(listener));
    await shell.ended;
  },
  120_000,
);

/** Follows a run until it waits for a person. */
const untilWaiting = (server: Server, run: string) =>
  followRun(server, run, '"status":"waiting_approval"');

test("every page with shell blocks is run, and skipped blocks are commands of the program", async () => {
  const run = [...OWN_TESTS, "chat", "services", "approvals", "agents", "tools", "triggers"];
  run.push("webhooks", "deployment", "models", "data", "stub", "operators");
  run.push("monitoring", "requests", "budgets", "backup", "upgrade", "console", "responses");
  run.push("messages", "evaluation", "mcp-server");
  const isShell = ({ language }: { language: string }) => language === "sh";
  for (const { name, blocks } of pages) {
    if (blocks.some(isShell)) expect(run).toContain(name);
  }
  // `stub` and README's chapter on running it contain nothing else.
  for (const line of [...shellOf("stub"), ...readCommands(readme, "Running it")]
    .join("\n")
    .split("\n")) {
    expect(NOT_RUN).toContain(line);
  }
  for (const line of NOT_RUN) {
    const argv = line.split(" ").slice(1);
    const verb = await findCommand(argv);
    await readArguments(verb, argv.slice(verb.name.split(" ").length));
  }
});

test("no command assigns `path`, the search path of some shells", () => {
  for (const { name, text } of [readme, ...pages]) {
    expect([name, /\bpath=/.test(text)]).toEqual([name, false]);
  }
});

describe("wadi help", () => {
  test("TOPIC prints the page, and the command line reference has every command", async () => {
    const { code, stdout } = await room.run(["help", "triggers"]);
    expect(code).toBe(0);
    expect(stdout).toBe(`${findPage("triggers").text}\nIts commands: \`wadi triggers --help\`.\n`);
    const reference = (await room.perform(["help", "cli"])).stdout;
    for (const { name } of await loadAllCommands())
      expect(reference).toContain(`## wadi ${name}\n`);
  });

  test("on a terminal shows commands that can be pasted, without a frame", () => {
    const { blocks, text } = findPage("quickstart");
    const shown = writeForTerminal(text, 80).split("\n");
    for (const line of blocks.flatMap((block) => block.text.split("\n"))) {
      expect(shown).toContain(`  ${line}`);
    }
  });

  test("lists the topics, and reports an unknown one", async () => {
    const { stdout } = await room.perform(["help", "topics"]);
    const topics = stdout.slice(stdout.indexOf("Topics of"));
    for (const { name } of pages) expect(topics).toContain(` ${name}`);
    const { code, stderr } = await room.perform(["help", "trigers"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("trigers")]);
  });
});
