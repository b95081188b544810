// The compiled program's `wadi connections`: it reads the secret from standard input and never
// prints it.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openRoom, type Room } from "../support/binary.ts";

const SECRET = "sk_canary_4b1e";

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

test("agents.does.connection agents.endpoints.tools.p5 a connection created on the command line is listed by a running server without its secret", async () => {
  const { url, key } = await room.serve(["serve", "--port", "0"]);
  const read = async () => {
    const headers = { authorization: `Bearer ${key}` };
    const reply = await fetch(`${url}/v1/tools/connections`, { headers });
    return ((await reply.json()) as { data: unknown }).data;
  };
  const create = (name: string, args: string[], stdin: string) =>
    room.perform(["connections", "create", name, "--account", "default", ...args], { stdin });

  const host = ["--host", "api.example.com", "--host", "127.0.0.1:9000"];
  const made = await create("My\nletters", [...host, "--json"], `${SECRET}\n`);
  expect([made.code, made.stderr]).toEqual([0, ""]);
  // The API shows OAuth settings on a route of their own.
  const { account, oauth, ...connection } = JSON.parse(made.stdout);
  expect([account, oauth, connection.kind]).toEqual(["default", null, "bearer"]);
  expect(connection.allowed_hosts).toEqual(["api.example.com", "127.0.0.1:9000"]);
  expect(await read()).toEqual([connection]);

  const { id } = connection;
  const set = await room.perform(["connections", "set-secret", id], { stdin: `${SECRET}_2\r\n` });
  expect([set.code, set.stdout.includes('name: "My\\nletters"\n')]).toEqual([0, true]);
  const listed = await room.perform(["connections", "list", "--account", "default"]);
  expect(listed.stdout.trimEnd().split("\n")).toHaveLength(2);

  const empty = await create("Empty", [], "");
  expect([empty.code, empty.stderr]).toEqual([
    ...[2, "wadi: no secret came on standard input: end the command with `< FILE`\n"],
  ]);
  const wrong = await create("Wrong", ["--header", "Host"], SECRET);
  expect([wrong.code, wrong.stderr]).toEqual([
    ...[1, "wadi: `header_name` names a header that may not carry a secret.\n"],
  ]);
  const bad = await create("Bad", [], `${SECRET} and more`);
  expect([bad.code, bad.stderr.includes("canary")]).toEqual([1, false]);
  const usage = await room.perform(["connections", "create", "X"], { stdin: SECRET });
  expect(usage.code).toBe(2);

  const gone = await room.perform(["connections", "delete", id, "--json"]);
  expect(JSON.parse(gone.stdout)).toEqual({ connection: id, deleted: true });
  expect(await read()).toEqual([]);

  for (const { stdout, stderr } of [made, set, listed, empty, wrong, bad, usage, gone]) {
    expect(stdout + stderr).not.toContain("canary");
  }
  const data = join(room.directory, "wadi-data");
  for (const file of readdirSync(data).filter((name) => name !== "control.sock")) {
    expect([file, readFileSync(join(data, file), "latin1").includes("canary")]).toEqual([
      file,
      false,
    ]);
  }
});
