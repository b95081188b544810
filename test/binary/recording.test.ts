// `wadi dev --record` and `--replay` as compiled, on real files.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executable } from "../../scripts/build.ts";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import {
  answerText,
  type ScriptedUpstream,
  startUpstream,
  writeSettings,
} from "../support/upstream.ts";

let room: Room;
let upstream: ScriptedUpstream;
beforeAll(() => {
  room = openRoom();
  upstream = startUpstream(() => answerText("from afar"));
  const settings = writeSettings(upstream.url, "", 'api_key_env = "AFAR_KEY"');
  writeFileSync(place("afar.toml"), settings);
  const other = settings.replace("test-1", "other-1");
  writeFileSync(place("other.toml"), other);
  writeFileSync(place("both.toml"), `${settings}${other}`);
});
afterAll(async () => {
  await upstream.stop();
  await room.close();
});

const place = (name: string) => join(room.directory, name);
const DEV = ["dev", "--port", "0"];
const stop = async (server: Server) => {
  server.signal("SIGTERM");
  expect(await server.exited).toBe(0);
};
const say = async (server: Server, content: string, body = {}) => {
  const response = await server.chat(content, { body });
  const { choices } = (await response.json()) as { choices?: { message: { content: string } }[] };
  return choices?.[0]?.message.content ?? response.status;
};

/** A recording of one request to each of these models. */
async function record(name: string, config: string, models: readonly string[]): Promise<void> {
  const env = { AFAR_KEY: "sk-afar" };
  const server = await room.serve([...DEV, "--config", config, "--record", name], { env });
  for (const model of models) expect(await say(server, "Hello", { model })).toBe("from afar");
  await stop(server);
}

test("a recording replays without the server and without its key", async () => {
  const env = { AFAR_KEY: "sk-afar" };
  const line = [...DEV, "--config", "afar.toml"];
  const recording = await room.serve([...line, "--record", "afar.jsonl"], { env });
  expect(recording.banner).toContain("recording afar.jsonl, which will hold prompts and replies");
  expect(recording.banner.length).toBeLessThanOrEqual(12);
  expect(await say(recording, "Hello")).toBe("from afar");
  expect(await say(recording, "Bye")).toBe("from afar");
  await stop(recording);
  expect(statSync(place("afar.jsonl")).mode & 0o777).toBe(0o600);
  expect(readFileSync(place("afar.jsonl"), "utf8")).not.toContain("sk-afar");

  const count = upstream.asked.length;
  const playing = await room.serve([...line, "--replay", "afar.jsonl"]);
  expect(playing.banner).toContain("replaying afar.jsonl (2 requests)");
  expect(playing.banner.length).toBeLessThanOrEqual(12);
  for (const word of ["Hello", "Bye", "Hello"]) expect(await say(playing, word)).toBe("from afar");
  expect(await say(playing, "Hm")).toBe(503);
  expect(await playing.logged("the recording holds no such request")).not.toContain("Hm");
  expect(upstream.asked).toHaveLength(count);
  await stop(playing);
});

test("a replay calls no service configured beside the models, and says so", async () => {
  const server = await room.serve([...DEV, "--record", "beside.jsonl"]);
  expect(await say(server, "Hello")).toBe("You said: Hello");
  await stop(server);
  const brave = '[search]\nkind = "brave"\napi_key_env = "NOT_AT_HAND"\n';
  writeFileSync(place("beside.toml"), brave);
  const playing = await room.serve([...DEV, "--config", "beside.toml", "--replay", "beside.jsonl"]);
  expect(playing.banner).toContain("services  embeddings (stub) · search (off)");
  expect(playing.banner).toContain(
    "          search off: what the settings name is not asked either",
  );
  expect(playing.banner.length).toBeLessThanOrEqual(12);
  await stop(playing);
});

test("a signal right after a reply loses no line of the recording", async () => {
  const server = await room.serve([...DEV, "--record", "quick.jsonl"]);
  const words = Array.from({ length: 100 }, (_, n) => `word ${n}`);
  await Promise.all(words.map((word) => say(server, word)));
  await stop(server);
  const playing = await room.serve([...DEV, "--replay", "quick.jsonl"]);
  expect(playing.banner).toContain("replaying quick.jsonl (100 requests)");
  expect(await say(playing, "word 99")).toBe("You said: word 99");
});

test("an existing file is not overwritten, and an empty recording is removed", async () => {
  writeFileSync(place("mine"), "mine");
  const refused = await room.perform([...DEV, "--record", "mine"]);
  expect(refused).toEqual({
    code: 1,
    stdout: "",
    stderr: "wadi: mine is there already, and --record overwrites nothing: name another file\n",
  });
  expect(readFileSync(place("mine"), "utf8")).toBe("mine");
  const nowhere = await room.perform([...DEV, "--record", "none/file"]);
  expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining("(ENOENT)") });

  const server = await room.serve([...DEV, "--record", "empty.jsonl"]);
  expect(existsSync(place("empty.jsonl"))).toBe(true);
  const { port } = new URL(server.url);
  expect((await room.perform(["dev", "--port", port, "--record", "taken.jsonl"])).code).toBe(1);
  await stop(server);
  expect(existsSync(place("empty.jsonl"))).toBe(false);
  expect(existsSync(place("taken.jsonl"))).toBe(false);
});

test("a full disk is reported once, and requests still succeed", async () => {
  // A file may not grow beyond a few kilobytes, and the signal that would end the process is ignored.
  const shell = ["sh", "-c", `trap '' XFSZ; ulimit -f 4; exec "$0" "$@"`];
  const options = { command: [...shell, executable()] };
  const server = await room.serve([...DEV, "--record", "full.jsonl"], options);
  for (let n = 0; n < 20; n++) expect(await say(server, `word ${n}`)).toBe(`You said: word ${n}`);
  expect(await server.logged("EFBIG")).toContain("error");
  await stop(server);
  const playing = await room.serve([...DEV, "--replay", "full.jsonl"]);
  expect(await say(playing, "word 0")).toBe("You said: word 0");
  expect(await say(playing, "word 19")).toBe(503);
});

test("a file that cannot be replayed is reported with its line, without its content", async () => {
  await record("good.jsonl", "afar.toml", ["test-1"]);
  const good = readFileSync(place("good.jsonl"), "utf8");
  writeFileSync(place("damaged.jsonl"), good.replace('"told"', '"Hello"'));
  writeFileSync(place("newer.jsonl"), good.replace('"wadi_recording":1', '"wadi_recording":2'));
  for (const [file, says] of [
    ["afar.toml", "afar.toml:1: this is no recording of `wadi dev --record`"],
    ["damaged.jsonl", "damaged.jsonl:2: this line is damaged"],
    ["newer.jsonl", "newer.jsonl:1: this recording is of another version of wadi"],
    ["none.jsonl", "none.jsonl does not exist: correct --replay"],
  ] as const) {
    const { code, stdout, stderr } = await room.perform([...DEV, "--replay", file]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^wadi: [^\n]+\n$/);
    expect(stderr).toContain(says);
    expect(stderr).not.toContain("Hello");
  }
});

test("models missing from the settings are reported at the start", async () => {
  await record("both.jsonl", "both.toml", ["test-1", "other-1"]);
  const line = [...DEV, "--config", "other.toml", "--replay", "both.jsonl"];
  const server = await room.serve(line);
  await server.logged("both.jsonl holds requests of models that the settings do not have: test-1");
  expect(await say(server, "Hello")).toBe("from afar");
});

test("both options together, or with `wadi serve`, are wrong usage", async () => {
  const both = await room.perform([...DEV, "--record", "a", "--replay", "b"]);
  expect(both).toMatchObject({ code: 2, stdout: "" });
  expect(both.stderr).toContain("--record and --replay exclude each other");
  for (const flag of ["--record", "--replay"]) {
    const serve = await room.perform(["serve", flag, "a"]);
    expect(serve).toMatchObject({ code: 2, stdout: "" });
    expect(serve.stderr).toContain(`\`wadi serve\` takes no ${flag}`);
  }
});
