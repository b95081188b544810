// The quickstart's commands, run as they are pasted, print what the page shows.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { executable } from "../../scripts/build.ts";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import { findPage, isShown, readBlock, readCommands } from "../support/documents.ts";
import { findClosedPort } from "../support/ports.ts";

const page = findPage("quickstart");
const isMissing = (name: string) => Bun.which(name) === null;

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

/** The two functions that shorten the commands of every page. */
const [words = ""] = readCommands(page, "Run an agent");

/** Returns the commands of a chapter for a server and its data directory. */
function commandsOf(chapter: string, { url }: Server, data: string): string[] {
  return readCommands(page, chapter).map((block) =>
    block.replaceAll("http://127.0.0.1:8080", url).replaceAll("./try", data),
  );
}

function runShell(server: Server, lines: readonly string[]) {
  const wadi = `wadi() { ${executable()} "$@"; }`;
  const functions = words.replaceAll("http://127.0.0.1:8080", server.url);
  return room.start(["-c", [wadi, functions, ...lines].join("\n")], { command: ["/bin/sh"] });
}

/** Replaces what differs from start to start. */
function expectShown(lines: readonly string[], shown: readonly string[]): void {
  expect(lines.length).toBe(shown.length);
  for (const [i, line] of lines.entries()) {
    expect([line, shown[i], isShown(line, shown[i]!)]).toEqual([line, shown[i]!, true]);
  }
}

test.skipIf(isMissing("curl"))("a chat is answered as shown", async () => {
  const server = await room.serve(["dev", "--port", "0"]);
  const { code, stdout } = await runShell(server, commandsOf("Chat", server, "")).ended;
  const shown = JSON.parse(readBlock(page, "The reply (id and time differ)"));
  const reply = JSON.parse(stdout) as { id: string; created: number };
  expect([code, reply]).toEqual([0, { ...shown, id: reply.id, created: reply.created }]);
});

test.skipIf(isMissing("curl"))("a run is started, streamed and shown to its operator", async () => {
  const server = await room.serve(["dev", "--port", "0", "--data", "./runs"]);
  const [, ...lines] = commandsOf("Run an agent", server, "./runs");
  const operate = lines.pop()!;
  const script = [...lines, 'echo "run: $RUN"', operate];
  const { code, stdout, stderr } = await runShell(server, script).ended;
  expect([code, stderr]).toEqual([0, ""]);
  const [stream = "", rest = ""] = stdout.split("run: ");
  // The first frame has the status at the time of the request.
  const isStart = (line: string) => /"run.status","status":"(queued|running)"/.test(line);
  const steps = stream
    .trimEnd()
    .split(/\n+/)
    .filter((line) => !isStart(line));
  expectShown(steps, readBlock(page, "The stream shows each step").split("\n").slice(1));
  expect(rest).toContain('output: "12.5 % of 80 is 10."');

  // The reader of the page on agents, on the same run.
  const code_ts = readBlock(findPage("agents"), "`Stream.fromSSEResponse` of the npm package");
  const frames: { type: string }[] = [];
  const read = new AsyncFunction("base", "key", "id", "show", code_ts);
  await read(`${server.url}/v1`, server.key, rest.split("\n")[0]!, (frame: { type: string }) => {
    frames.push(frame);
  });
  expect(frames.map(({ type }) => type)).toEqual([
    "run.status",
    ...new Array(8).fill("step.completed"),
    "run.completed",
  ]);
});

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;

test.skipIf(isMissing("curl"))(
  "a call waits, and is decided by a key or by the operator",
  async () => {
    const server = await room.serve(["dev", "--port", "0", "--data", "./asking"]);
    const [start, decide, operate] = commandsOf("Approve a call", server, "./asking");
    const following = runShell(server, [start!]);
    await following.said('"status":"waiting_approval"');
    const decided = await runShell(server, [decide!]).ended;
    expect([decided.code, decided.stderr]).toEqual([0, ""]);
    expect(JSON.parse(decided.stdout)).toMatchObject({ status: "approved" });
    const { code, stdout, stderr } = await following.ended;
    expect([code, stderr]).toEqual([0, ""]);
    // The first frame has the status at the time of the request.
    const isSettled = (line: string) => !/"run.status","status":"(?!succeeded)/.test(line);
    expect(stdout).toContain('{"type":"run.status","status":"waiting_approval"}');
    const shown = ["The stream pauses.", "The run goes on. With"]
      .flatMap((after) => readBlock(page, after).split("\n"))
      .filter(isSettled);
    expectShown(stdout.trimEnd().split(/\n+/).filter(isSettled), shown);

    // The operator decides about a run of its own.
    const again = runShell(server, [start!]);
    await again.said('"status":"waiting_approval"');
    const reply = await server.ask("GET", "/v1/approvals?status=pending");
    const [{ id }] = ((await reply.json()) as { data: [{ id: string }] }).data;
    const shell = await runShell(server, [`APPROVAL=${id}`, operate!]).ended;
    expect(shell.code).toBe(0);
    expect(shell.stdout.split(`id: ${id}\ntool: memory_set\n`)).toHaveLength(3);
    expect((await again.ended).stdout).toContain('"output":{"message":"Noted."}');
  },
  120_000,
);

test.skipIf(["curl", "node"].some(isMissing))(
  "a hook starts a run, and a webhook reports it",
  async () => {
    const port = findClosedPort();
    const allowed = ["--allow-egress", `127.0.0.1:${port}`];
    const server = await room.serve(["dev", "--port", "0", "--data", "./ringing", ...allowed]);
    expect(readBlock(page, "allow the address of the receiver:")).toBe(
      `npm start -- ${allowed.join(" ")}`.replace(`${port}`, "4400"),
    );
    const [listen, make, ring, again, operate] = commandsOf(
      "A hook in, a webhook out",
      server,
      "./ringing",
    ).map((block) =>
      block
        .replaceAll("127.0.0.1:4400", `127.0.0.1:${port}`)
        // A process and not a function: the shell must know its id.
        .replace("wadi listen", `${executable()} listen --port ${port}`),
    );
    const shell = runShell(server, [
      ...[listen!, make!, ring!, again!],
      'echo "hook: $HOOK $LISTENER"',
    ]);
    const [, hook, listener] = (await shell.said("hook: ")).split(" ");
    await shell.said("  trigger.fired  ");
    await shell.said("  run.completed  ");
    process.kill(Number(listener));
    const { code, stdout, stderr } = await shell.ended;
    expect([code, stderr]).toEqual([0, ""]);
    const printed = stdout.trimEnd().split("\n");
    for (const line of readBlock(page, "The receiver prints both events").split("\n")) {
      expect([line, printed.some((one) => isShown(one, line))]).toEqual([line, true]);
    }
    const answers = printed.filter((line) => /^\d{3} /.test(line)).map((line) => line.split(" "));
    expect(answers.map(([status]) => status)).toEqual(["202", "200"]);
    expect(JSON.parse(answers[1]![1]!)).toEqual(JSON.parse(answers[0]![1]!));
    expect(printed.filter((line) => line.includes("  verified  "))).toHaveLength(2);

    const seen = await runShell(server, [`HOOK=${hook}`, operate!]).ended;
    expect([seen.code, seen.stderr, seen.stdout.trimEnd().split("\n").length]).toEqual([0, "", 4]);
  },
  120_000,
);
