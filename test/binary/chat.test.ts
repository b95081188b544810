// The compiled program's `wadi chat`: one question through a pipe, and a conversation on a terminal.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openRoom, type Room, type Server } from "../support/binary.ts";

let room: Room;
let server: Server;
let env: Record<string, string>;
beforeAll(async () => {
  room = openRoom();
  server = await room.serve(["dev", "--port", "0"]);
  env = { WADI_SERVER_URL: server.url, WADI_API_KEY: server.key };
});
afterAll(() => room.close());

test("a question through a pipe or as an argument gets one answer on stdout", async () => {
  const piped = await room.perform(["chat"], { env, stdin: "Hello\n" });
  expect(piped).toEqual({ code: 0, stdout: "You said: Hello\n", stderr: "" });
  const typed = await room.perform(["chat", "!say One\\ntwo", "--json"], { env });
  expect([typed.code, typed.stderr]).toEqual([0, ""]);
  expect(JSON.parse(typed.stdout)).toMatchObject({ model: "svc", finish_reason: "stop" });
});

test("the key may be in another variable, and the address in an option", async () => {
  const other = { OTHER_KEY: server.key };
  const args = ["chat", "Hello", "--server", server.url, "--key-env", "OTHER_KEY"];
  expect(await room.perform(args, { env: other })).toMatchObject({ code: 0, stderr: "" });
});

test("what is wrong is one sentence on stderr", async () => {
  const refused = async (args: string[], changed: Record<string, string>, stdin = "") => {
    const { code, stdout, stderr } = await room.perform(["chat", ...args], {
      ...{ env: { ...env, ...changed }, stdin },
    });
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^wadi: .+\n$/);
    return `${code} ${stderr}`;
  };
  expect(await refused(["Hi"], { WADI_API_KEY: "" })).toStartWith(
    "1 wadi: a chat needs an API key",
  );
  expect(await refused(["Hi"], { WADI_API_KEY: "wrong" })).toStartWith("1 wadi: ");
  expect(await refused(["Hi"], { WADI_SERVER_URL: "http://127.0.0.1:1" })).toContain("reached");
  expect(await refused([], {}, " \n")).toStartWith("2 wadi: no question came");
  expect(await refused(["!error context_length_exceeded"], {})).toContain("context");
});

test("an answer that breaks off or fails in the middle is a failure", async () => {
  const cut = await room.perform(["chat", "!say One two three\n!cut"], { env });
  expect(cut.code).toBe(1);
  expect(cut.stdout).toContain("One");
  expect(cut.stderr).toMatch(/^wadi: .+\n$/);
});

test("a conversation remembers, can be cleared, and ends with /quit", async () => {
  const lines = [
    "!say Noted.\r",
    "/model stub-1\r",
    "/nonsense\r",
    "/clear\r",
    "Hello\r",
    "/quit\r",
  ];
  const shown = await room.type(["chat"], 100, { env, lines });
  expect(shown).toContain("Noted.\n");
  expect(shown).toContain("stub-1 answers from now on\n");
  expect(shown).toContain("the conversation begins anew\n");
  expect(shown).toContain("You said: Hello\n");
});

test("a terminal is not controlled by what a model says", async () => {
  const shown = await room.type(["chat", "\u001b[2Jred"], 100, { env });
  expect(shown).toBe("You said: \\u001b[2Jred\n");
  const lines = ["\u009b2Jred\r", "/quit\r"];
  expect(await room.type(["chat"], 100, { env, lines })).toContain("You said: \\u009b2Jred\n");
  const piped = await room.perform(["chat", "\u001b[2Jred"], { env });
  expect(piped.stdout).toBe("You said: \u001b[2Jred\n");
});
