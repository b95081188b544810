// `wadi approvals` beside the compiled server: its decisions apply there at once.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import { followRun } from "../support/follow-run.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a test expects says what it is.
type Json = { [field: string]: any };

/** Control sequences that hide or reverse text; the model's own arguments contain them. */
const TRICK = "1+1 \u001b[2J\u0007\u009b1m\u202e\u200b\u{e0041} Zürich";

let room: Room;
let server: Server;
let agent: Json;
beforeAll(async () => {
  room = openRoom();
  // Polls until the run has the status.
  const env = {
    WADI_LIMITS__REQUESTS_PER_MINUTE: "1000000",
    WADI_LIMITS__ADDRESS_REQUESTS_PER_MINUTE: "1000000",
  };
  server = await room.serve(["dev", "--port", "0", "--data", "./try"], { env });
  const policy = { require_approval: ["web_search"] };
  const body = { name: "Clerk\u001b[2J", system_prompt: "x", tools: ["web_search"], policy };
  agent = await read(await server.ask("POST", "/v1/agents", { body }));
});
afterAll(() => room.close());

const read = async (reply: Response) => (await reply.json()) as Json;
const run = (...args: string[]) => room.perform([...args, "--data", "./try"]);

/** A run that waits for a person, and its approval. */
async function ask(message: string): Promise<{ id: string; approval: string }> {
  const body = { input: { message } };
  const { id } = await read(await server.ask("POST", `/v1/agents/${agent.id}/runs`, { body }));
  await followRun(server, id, '"status":"waiting_approval"');
  return { id, approval: (await look(id)).pending_approvals[0] };
}
const look = async (id: string) => read(await server.ask("GET", `/v1/runs/${id}`));
const search = (query: string) =>
  `!tool web_search ${JSON.stringify({ query })}\n!next\n!say Done.`;
const userName = async () => (await room.run(["-un"], { command: ["/usr/bin/id"] })).stdout.trim();

/** Resolves with the stream's end. */
const followed = async (id: string) => {
  const reply = await server.ask("GET", `/v1/runs/${id}/events`);
  const frames = [...(await reply.text()).matchAll(/^data: (\{.*)$/gm)];
  return (JSON.parse(frames.at(-1)![1]!) as Json).run as Json;
};

test("agents.states.waiting_approval_approve an approval from the command line resumes the run on a running server at once", async () => {
  const { id, approval } = await ask(search("wadi"));
  const end = followed(id);
  const listed = await run("approvals", "list", "--status", "pending", "--json");
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { id: approval, account: "dev", run_id: id, tool: "web_search", why: ["listed"] },
  ]);
  const approved = await run("approvals", "approve", approval, "--reason", "Look it up.", "--json");
  expect([approved.code, approved.stderr]).toEqual([0, ""]);
  const decided = JSON.parse(approved.stdout) as Json;
  const by = { kind: "operator", id: await userName() };
  expect(decided).toMatchObject({ status: "approved", reason: "Look it up.", decided_by: by });
  expect(await end).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
  const shown = await server.ask("GET", `/v1/approvals/${approval}`);
  expect(await read(shown)).toEqual(decided);

  const again = await run("approvals", "approve", approval);
  expect([again.code, again.stderr]).toEqual([0, "it was approved already, and stays as it was\n"]);
  const other = await run("approvals", "reject", approval);
  expect([other.code, other.stdout]).toEqual([1, ""]);
  expect(other.stderr).toBe(
    `wadi: it was already decided the other way: \`wadi approvals show ${approval}\` tells more\n`,
  );
});

test("agents.states.waiting_approval_reject a rejection does as well, and the stream of the run says how to decide", async () => {
  const { id, approval } = await ask(search("wadi"));
  const following = room.run(["runs", "follow", id, "--data", "./try"]);
  const rejected = await run("approvals", "reject", approval, "--reason", "No.\u001b[2J");
  expect([rejected.code, rejected.stderr]).toEqual([0, ""]);
  expect(rejected.stdout).toMatch(
    /^id: .+\ntool: web_search\nstatus: rejected\ndecided_by: operator "[^"]+"\ndecided_at: .+Z\nreason: "No\.\\u001b\[2J"\n$/,
  );
  const { code, stdout } = await following;
  expect(code).toBe(0);
  expect(stdout).toContain(`rejected ${approval} "web_search"`);
  expect(await look(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 0 } });
});

test("the stream and the page of a waiting run say what it waits for and how to decide", async () => {
  const { id, approval } = await ask(search("wadi"));
  const hint =
    "the run waits for a person: `wadi approvals show ID` tells what it would do\n" +
    `\`wadi approvals approve ${approval}\` lets it be called, ` +
    `\`wadi approvals reject ${approval} --reason TEXT\` does not\n`;
  expect((await run("runs", "show", id)).stderr).toBe(hint);
  // Decides as soon as the follower has printed the command.
  const shell = `wadi=$1; shift; mkfifo told
    "$wadi" runs follow "$@" 2>told &
    exec 3<told
    while read -r line <&3; do echo "$line" >&2; case $line in *reject*) break; esac; done
    "$wadi" approvals approve $APPROVAL --data ./try >approved
    cat <&3 >&2; wait`;
  const command = ["/bin/sh", "-c", shell, "sh"];
  const { executable } = await import("../../scripts/build.ts");
  const done = await room.run([executable(), id, "--data", "./try"], {
    command,
    env: { APPROVAL: approval },
  });
  expect(done.stderr).toBe(hint);
  expect(done.stdout).toContain(`approved ${approval} "web_search"`);
});

test("`approvals show` prints everything needed to decide, and no terminal control sequences", async () => {
  const { id, approval } = await ask(search(TRICK));
  const { code, stdout, stderr } = await run("approvals", "show", approval);
  expect(code).toBe(0);
  expect(stderr).toStartWith(`\`wadi approvals approve ${approval}\` lets it be called`);
  expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}|\p{Zl}|\p{Zp}/u);
  const [head, why, json] = stdout.split("\n\n") as [string, string, string];
  const lines = Object.fromEntries(head.split("\n").map((line) => line.split(/: (.*)/s, 2)));
  expect(lines).toMatchObject({
    ...{ id: approval, tool: "web_search", status: "pending", risk: "read", revision: "1" },
    ...{ account: "dev", agent_id: agent.id, agent_name: '"Clerk\\u001b[2J"' },
    ...{ run_id: id, run_status: "waiting_approval", run_message: expect.any(String) },
    ...{ expires_at: expect.any(String), arguments_sha256: expect.stringMatching(/^\w{64}$/) },
  });
  expect(why).toBe(
    "why a person is asked:\n  listed: the agent's policy names the tool in require_approval",
  );
  // Whole, and the very same value.
  expect(json).toStartWith("arguments:\n{\n");
  expect(JSON.parse(json.slice("arguments:\n".length))).toEqual({ query: TRICK });
  const asJson = JSON.parse((await run("approvals", "show", approval, "--json")).stdout) as Json;
  expect(asJson).toMatchObject({ account: "dev", agent_name: agent.name });
  expect(asJson.approval).toEqual(await read(await server.ask("GET", `/v1/approvals/${approval}`)));
});

test("a malformed line exits with 2 and a refused one with 1, each with its reason", async () => {
  const unknown = "0198f000-0000-7000-8000-000000000001";
  const lines: [code: number, says: string, args: string[]][] = [
    [2, "--status takes pending, approved", ["list", "--status", "waiting"]],
    [2, "--limit takes 1 to 10000", ["list", "--limit", "0"]],
    [2, "--limit takes a whole number", ["list", "--limit", "all"]],
    [2, "", ["approve"]],
    [2, "", ["reject", unknown, "--because", "x"]],
    [
      2,
      "--reason takes at most 1000 characters",
      ["approve", unknown, "--reason", "é".repeat(1_001)],
    ],
    [2, "--answer takes at most 958 characters", ["reject", unknown, "--answer", "é".repeat(959)]],
    [1, "there is no account", ["list", "--account", "nobody"]],
    [1, `there is no approval "${unknown}"`, ["show", unknown]],
    [1, `there is no approval "${unknown}"`, ["approve", unknown]],
    [1, "that is no approval's id", ["reject", server.key]],
  ];
  for (const [code, says, args] of lines) {
    const ended = await run("approvals", ...args);
    expect([args, ended.code, ended.stdout]).toEqual([args, code, ""]);
    expect(ended.stderr).toContain(says);
    expect(ended.stderr).not.toContain(server.key);
  }
});
