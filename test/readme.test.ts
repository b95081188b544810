// Keeps README.md true: its settings are those of the table, its commands those of the help
// (UPDATE_README=1 rewrites both), its transcripts are what the program prints.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TObject, TSchema } from "@sinclair/typebox";
import { executable } from "../scripts/build.ts";
import { writeHelp } from "../src/cli/help.ts";
import { VERBS } from "../src/cli/verbs.ts";
import { readSettings } from "../src/platform/settings/index.ts";
import {
  Model,
  OpenaiUpstream,
  Start,
  StubUpstream,
} from "../src/platform/settings/model-table.ts";
import { Table } from "../src/platform/settings/table.ts";
import { openRoom, type Room, type Server } from "./support/binary.ts";

const README = `${import.meta.dir}/../README.md`;
const HEAD = "| setting | meaning | default |\n|---|---|---|\n";

function listRows(schema: TObject, path: string): string[] {
  return Object.entries(schema.properties).flatMap(([name, field]: [string, TSchema]) => {
    const isNested = field.type === "object" && "properties" in field && field.properties;
    if (isNested) return listRows(field as TObject, `${path}${name}.`);
    if (name === "models" || name === "upstream") return [];
    const fallback = "default" in field ? `\`${JSON.stringify(field.default)}\`` : "";
    const waits = field.reloads === false ? " Needs a restart." : "";
    return [`| \`${path}${name}\` | ${field.description}${waits} | ${fallback} |`];
  });
}

test("README lists every setting with its meaning and default", () => {
  const rows = [
    ...listRows(Table, ""),
    ...listRows(Model, "models."),
    ...listRows(OpenaiUpstream, "models.upstream."),
    ...listRows(Start, "models.upstream.start."),
    ...listRows(StubUpstream, "models.upstream.").filter((row) => !row.includes(".kind`")),
  ];
  const table = `${HEAD}${rows.join("\n")}\n`;
  const text = readFileSync(README, "utf8");
  const start = text.indexOf(HEAD);
  const end = text.indexOf("\n\n", start);
  if (process.env.UPDATE_README) {
    writeFileSync(README, text.slice(0, start) + table.trimEnd() + text.slice(end));
    return;
  }
  expect(`${text.slice(start, end)}\n`).toBe(table);
});

test("README lists every command as `wadi` alone does", () => {
  const shown = readBlock("These are all the commands");
  const help = writeHelp(VERBS).trimEnd();
  if (process.env.UPDATE_README) {
    const text = readFileSync(README, "utf8");
    writeFileSync(
      README,
      text.replace(`\n${shown}\n`, () => `\n${help}\n`),
    );
    return;
  }
  expect(shown).toBe(help);
});

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

/** The fenced block behind a text of README.md. */
function readBlock(after: string): string {
  const text = readFileSync(README, "utf8");
  const start = text.indexOf("```", text.indexOf(after));
  const from = text.indexOf("\n", start) + 1;
  return text.slice(from, text.indexOf("\n```", from));
}

/** What differs from start to start is replaced: the port and the key. */
function level(text: string): string {
  return text
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:PORT")
    .replaceAll(/svc_sk_\w{49}/g, "KEY")
    .replace(/wadi \d+\.\d+\.\d+/, "wadi VERSION");
}

test("the start of `wadi dev` is what README shows, and its curl line answers as shown", async () => {
  const server = await room.serve(["dev", "--port", "0"]);
  expect(level(server.banner.join("\n"))).toBe(level(readBlock("runs `wadi dev`:")));
  const shown = JSON.parse(readBlock("pasted into a second terminal"));
  const reply = await (await server.chat("Hello")).json();
  const { id, created } = reply as { id: string; created: number };
  expect(reply).toEqual({ ...shown, id, created });
});

/** Sends the curl line of a chapter as a shell would; the key in it is the printed one. */
async function sendShown(chapter: string) {
  const server = await room.serve(["dev", "--port", "0"]);
  const line = readBlock(`### ${chapter}\n`);
  const [, path, key, body] =
    /^curl http:\/\/127\.0\.0\.1:8080(\S+) -H '.+? Bearer (\S+)' -H '.+?' -d '(.+)'$/.exec(line)!;
  expect(key).toBe(server.key);
  const reply = await server.ask("POST", path!, { key, body: JSON.parse(body!) });
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
}

/** The blocks of a chapter that are pasted into a shell, as they stand but for the address. */
function readCommands(chapter: string, url: string): string[] {
  const text = readFileSync(README, "utf8");
  const start = text.indexOf(`### ${chapter}\n`);
  const end = text.indexOf("\n## ", start);
  const next = text.indexOf("\n### ", start);
  const blocks = text.slice(start, Math.min(end, next)).matchAll(/^```sh\n(.+?)\n```$/gms);
  return [...blocks].map(([, block]) => block!.replaceAll("http://127.0.0.1:8080", url));
}

/** Whether a line is the one that README shows with some of it left out. */
function isShown(line: string, shown: string): boolean {
  const pieces = shown.split("…");
  let at = 0;
  const isThere = pieces.every((piece, i) => {
    const found = i === 0 ? (line.startsWith(piece) ? 0 : -1) : line.indexOf(piece, at);
    at = found + piece.length;
    return found !== -1;
  });
  return isThere && (shown.endsWith("…") || line.endsWith(pieces.at(-1)!));
}

test.skipIf(Bun.which("curl") === null)(
  "README's run is made, started and followed by its lines, pasted as they are",
  async () => {
    const server = await room.serve(["dev", "--port", "0", "--data", "./try"]);
    const commands = readCommands("A run, followed live", server.url);
    const follow = commands.pop()!;
    expect(follow).toStartWith("dist/wadi runs follow $RUN ");
    const script = [...commands, 'echo "run: $RUN"'].join("\n");
    const shell = await room.run(["-c", script], { command: ["/bin/sh"] });
    expect([shell.code, shell.stderr]).toEqual([0, ""]);
    const told = shell.stdout.trimEnd().split(/\n+/);
    const run_id = told.pop()!.replace("run: ", "");
    // How far it has come when the stream begins, and with it a change of status, is left to chance.
    const isStart = (line: string) => /"run.status","status":"(queued|running)"/.test(line);
    const steps = told.filter((line) => !isStart(line));
    const shown = readBlock("(shortened here where").split("\n").slice(1);
    expect(steps.length).toBe(shown.length);
    for (const [i, line] of steps.entries()) {
      expect([line, shown[i], isShown(line, shown[i]!)]).toEqual([line, shown[i]!, true]);
    }
    const operator = await room.run(follow.replace("$RUN", run_id).split(" ").slice(1));
    expect([operator.code, operator.stderr]).toEqual([0, ""]);
    expect(operator.stdout).toContain('output: "12.5 % of 80 is 10."');

    // The reader of the chapter on agents, on the same run.
    const code = readBlock("`Stream.fromSSEResponse` of the npm package `openai`, or:");
    const frames: { type: string }[] = [];
    const read = new AsyncFunction("base", "key", "id", "show", code);
    await read(`${server.url}/v1`, server.key, run_id, (frame: { type: string }) => {
      frames.push(frame);
    });
    expect(frames.map(({ type }) => type)).toEqual([
      "run.status",
      ...new Array(8).fill("step.completed"),
      "run.completed",
    ]);
  },
  20_000,
);

test.skipIf(Bun.which("curl") === null)(
  "README's call waits for a person, who decides by the lines of another terminal, or as operator",
  async () => {
    const env = {
      WADI_LIMITS__REQUESTS_PER_MINUTE: "1000000",
      WADI_LIMITS__ADDRESS_REQUESTS_PER_MINUTE: "1000000",
    };
    const server = await room.serve(["dev", "--port", "0", "--data", "./asking"], { env });
    const [words] = readCommands("A run, followed live", server.url);
    const [start, decide, operate] = readCommands("A call that waits for a person", server.url);
    // Of the first lines only what the others are spared by.
    const spared = words!.split("\n").slice(0, 2).join("\n");
    const run = (lines: string) => room.run(["-c", lines], { command: ["/bin/sh"] });
    const following = room.start(["-c", `${spared}\n${start}`], { command: ["/bin/sh"] });
    // They decide who have seen it wait.
    await following.said('"status":"waiting_approval"');
    const decided = await run(decide!);
    expect([decided.code, decided.stderr]).toEqual([0, ""]);
    expect(JSON.parse(decided.stdout)).toMatchObject({ status: "approved" });
    const { code, stdout, stderr } = await following.ended;
    expect([code, stderr]).toEqual([0, ""]);
    // How far it has come when the stream begins is left to chance: then it begins with that.
    const isSettled = (line: string) => !/"run.status","status":"(?!succeeded)/.test(line);
    expect(stdout).toContain('{"type":"run.status","status":"waiting_approval"}');
    const told = stdout.trimEnd().split(/\n+/).filter(isSettled);
    const shown = ["The stream comes to a stop.", "At once the second terminal goes on"]
      .flatMap((after) => readBlock(after).split("\n"))
      .filter(isSettled);
    expect(told.length).toBe(shown.length);
    for (const [i, line] of told.entries()) {
      expect([line, shown[i], isShown(line, shown[i]!)]).toEqual([line, shown[i]!, true]);
    }

    // The operator's lines, on the data of this server and for a run of its own.
    const again = run(`${spared}\n${start}`);
    const { id } = await untilWaiting(server);
    for (const line of operate!.split("\n")) {
      const sent = line.replace("$APPROVAL", id).replace("./try", "./asking");
      const args = sent
        .replaceAll("'", "")
        .replace(/They asked for it\./, "Fine.")
        .split(" ");
      const ended = await room.run(args.slice(1));
      expect([line, ended.code]).toEqual([line, 0]);
      expect(ended.stdout).toContain(`id: ${id}\ntool: memory_set\n`);
    }
    expect((await again).stdout).toContain('"output":{"message":"Noted."}');
  },
  20_000,
);

test.skipIf(Bun.which("curl") === null)(
  "README's tool of one's own is registered, named by a version and looked at by its lines",
  async () => {
    const server = await room.serve(["dev", "--port", "0"]);
    const [words] = readCommands("A run, followed live", server.url);
    const spared = words!.split("\n").slice(0, 2).join("\n");
    const [lines] = readCommands("Endpoints as tools", server.url);
    const shell = await room.run(["-c", `${spared}\n${lines}`], { command: ["/bin/sh"] });
    expect([shell.code, shell.stderr]).toEqual([0, ""]);
    const [tool, check] = shell.stdout.split(/(?=\{"agent_id")/).map((text) => JSON.parse(text));
    expect(tool).toMatchObject({ name: "send_letter", revision: 1, risk: "irreversible" });
    expect(check.data).toMatchObject([{ name: "send_letter", effect: "asks" }]);
  },
);

test.skipIf(["curl", "node"].some((name) => Bun.which(name) === null))(
  "README's hook starts a run, and `wadi listen` verifies what is told of it, by its lines",
  async () => {
    const port = await findFreePort();
    const allowed = ["--allow-egress", `127.0.0.1:${port}`];
    const server = await room.serve(["dev", "--port", "0", "--data", "./ringing", ...allowed]);
    expect(readBlock("in the first terminal it starts anew:")).toBe(
      `npm start -- ${allowed.join(" ")}`.replace(`${port}`, "4400"),
    );
    const [words] = readCommands("A run, followed live", server.url);
    const spared = words!.split("\n").slice(0, 2).join("\n");
    const [listen, make, ring, again, operate] = readCommands(
      "A hook in, a webhook out",
      server.url,
    ).map((block) =>
      block
        .replaceAll("127.0.0.1:4400", `127.0.0.1:${port}`)
        .replace("dist/wadi listen", `${executable()} listen --port ${port}`),
    );
    const script = [spared, listen, make, ring, again, 'echo "hook: $HOOK $LISTENER"'].join("\n");
    const shell = room.start(["-c", script], { command: ["/bin/sh"] });
    const [, hook, listener] = (await shell.said("hook: ")).split(" ");
    await shell.said("  trigger.fired  ");
    await shell.said("  run.completed  ");
    process.kill(Number(listener));
    const { code, stdout, stderr } = await shell.ended;
    expect([code, stderr]).toEqual([0, ""]);
    const told = stdout.trimEnd().split("\n");
    const shown = readBlock("the listener prints what happened").split("\n");
    for (const line of shown) {
      expect([line, told.some((one) => isShown(one, line))]).toEqual([line, true]);
    }
    const answers = told.filter((line) => /^\d{3} /.test(line)).map((line) => line.split(" "));
    expect(answers.map(([status]) => status)).toEqual(["202", "200"]);
    expect(JSON.parse(answers[1]![1]!)).toEqual(JSON.parse(answers[0]![1]!));
    expect(told.filter((line) => line.includes("  verified  "))).toHaveLength(2);

    // What its operator sees of the same.
    for (const line of operate!.split("\n")) {
      const args = line.replace("$HOOK", hook!).replace("./try", "./ringing").split(" ");
      const ended = await room.run(args.slice(1));
      expect([line, ended.code, ended.stdout.trimEnd().split("\n").length]).toEqual([line, 0, 2]);
    }
  },
  20_000,
);

test("README's schedule is taken by `wadi dev`, and fires next on a morning in Riyadh", async () => {
  const server = await room.serve(["dev", "--port", "0"]);
  const [words] = readCommands("A run, followed live", server.url);
  const [make] = readCommands("Triggers", server.url);
  const shell = await room.run(["-c", `${words}\n${make}`], { command: ["/bin/sh"] });
  expect([shell.code, shell.stderr]).toEqual([0, ""]);
  const trigger = JSON.parse(shell.stdout) as { next_fire_at: string; upcoming: string[] };
  expect(trigger.upcoming).toHaveLength(3);
  expect(trigger.upcoming[0]).toBe(trigger.next_fire_at);
  for (const at of trigger.upcoming) expect(at).toEndWith("T06:30:00.000Z");
});

test("no line of README takes the search path away from the shells that call it `path`", () => {
  expect(readFileSync(README, "utf8")).not.toMatch(/\bpath=/);
});

/** Nobody listened there just now. */
async function findFreePort(): Promise<number> {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port } = server;
  await server.stop(true);
  return port!;
}

/** The approval that waits, as soon as one does. */
async function untilWaiting(server: Server): Promise<{ id: string }> {
  for (;;) {
    const runs = await server.ask("GET", "/v1/runs?status=waiting_approval");
    const reply = await server.ask("GET", "/v1/approvals?status=pending");
    const { data } = (await reply.json()) as { data: { id: string }[] };
    if (((await runs.json()) as { data: object[] }).data.length > 0 && data[0]) return data[0];
  }
}

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;

test("the curl line of README's deep thinking is answered by `wadi dev`, for all attempts", async () => {
  const { total_tokens } = JSON.parse(readBlock("pasted into a second terminal")).usage;
  const { status, body } = await sendShown("Deep thinking");
  expect(status).toBe(201);
  expect(body.usage).toMatchObject({ total_tokens: 3 * total_tokens });
});

test("the curl line of README's embeddings is answered by `wadi dev`", async () => {
  const { status, body } = await sendShown("Embeddings");
  expect(status).toBe(200);
  const data = body.data as { embedding: number[] }[];
  expect(data.map(({ embedding }) => embedding.length)).toEqual([1024, 1024]);
});

test("the curl line of README's search finds pages of `wadi dev`, and its reply is as shown", async () => {
  const { status, body } = await sendShown("Search");
  expect(status).toBe(200);
  const { data, ...rest } = body as { data: object[] };
  expect(data.length).toBeGreaterThan(0);
  const fields = Object.keys(data[0]!).map((name) => `"${name}":`);
  expect(readFileSync(README, "utf8")).toMatch(new RegExp(`${fields.join("[^,}]+,")}…\\}`));
  expect(rest as object).toEqual({ object: "list", query: "retry after" });
});

test("the settings that README shows of embeddings and search hold", () => {
  const env = { BRAVE_API_KEY: "key" };
  const read = (after: string) => readSettings(readBlock(after), "wadi.toml", env, {});
  const shown = read("until the settings say what answers");
  expect([shown.embeddings.kind, shown.search.kind]).toEqual(["tei", "searxng"]);
  const brave = read("Brave's web search API needs a key").search;
  expect([brave.kind, brave.api_key]).toEqual(["brave", "key"]);
});

test("the wadi.toml of README serves, and its first start prints what README shows", async () => {
  const file = join(room.directory, "wadi.toml");
  writeFileSync(file, readBlock("Write a `wadi.toml`:"));
  const shown = await room.show(["serve", "--port", "0"]);
  expect(level(shown.trimEnd())).toBe(level(readBlock("A first start makes")));
});
