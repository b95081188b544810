// The compiled program's backup, restore, resume and move: what they print, refuse and leave behind.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executable } from "../../scripts/build.ts";
import { openRoom, type Room, type Server } from "../support/binary.ts";

let room: Room;
let server: Server;
beforeAll(async () => {
  room = openRoom();
  server = await room.serve(["serve", "--port", "0"]);
  const create = ["connections", "create", "orders", "--account", "default"];
  const secret = await room.perform([...create, "--host", "api.example.com"], { stdin: "s3cret" });
  expect(secret.code).toBe(0);
});
afterAll(() => room.close());

const at = (name: string) => join(room.directory, name);
const KEY_MISSING = /^the key of its secrets \([0-9a-f]{16}\) is not in copy\/secrets.key: put the/;

test("a backup beside a server is one file without the key, and one JSON document", async () => {
  const { code, stdout, stderr } = await room.run(["backup", "one.backup", "--json"]);
  expect([code, stderr]).toEqual([
    ...[0, "the secrets in it stay sealed: keep wadi-data/secrets.key elsewhere\n"],
  ]);
  const document = JSON.parse(stdout);
  expect(document).toMatchObject({ file: "one.backup", has_secrets_key: false });
  expect(document.tables).toContainEqual({ name: "connections", rows: 1 });
  expect(statSync(at("one.backup")).mode & 0o777).toBe(0o600);
  const again = await room.perform(["backup", "one.backup"]);
  expect([again.code, again.stderr]).toEqual([
    ...[1, "wadi: one.backup exists, and no backup replaces a file\n"],
  ]);
});

test("a backup names its file where it cannot be written, and leaves no draft", async () => {
  const limited = ["-c", `ulimit -f 1 && exec ${executable()} backup limited.backup`];
  expect(await room.run(limited, { command: ["/bin/sh"] })).toMatchObject({
    code: 1,
    stderr:
      "wadi: limited.backup cannot be written (EFBIG): " +
      "it is larger than the file system or `ulimit -f` allows\n",
  });
  expect(readdirSync(room.directory).filter((name) => name.startsWith("limited"))).toEqual([]);
  for (const command of ["backup", "restore"]) {
    expect(await room.perform([command, ""])).toMatchObject({
      code: 2,
      stderr: 'wadi: FILE is the name of a file, but is ""\n',
    });
  }
});

test("a restore refuses the directory of a running server, also with --yes", async () => {
  const { code, stderr } = await room.perform(["restore", "one.backup", "--yes"]);
  expect([code, stderr]).toEqual([
    1,
    "wadi: another wadi process (a server, a move or a restore) uses wadi-data: " +
      "stop it, or give this one another database\n",
  ]);
});

test("a copy is paused, says so at its start, and lacks the key until it is put there", async () => {
  const copy = await room.run(["restore", "one.backup", "--data", "copy"]);
  expect([copy.code, copy.stdout]).toEqual([
    0,
    expect.stringMatching(/^copy: \d+ rows of 2\S+\n$/),
  ]);
  const [key, pause] = copy.stderr.split("\n");
  expect(key).toMatch(KEY_MISSING);
  expect(pause).toStartWith("it is paused: ");
  const second = await room.serve(["serve", "--port", "0", "--data", "copy"]);
  expect(second.banner).toContain(
    "paused    restored from a backup: nothing fires, runs or is delivered before `wadi resume`",
  );
  const status = await room.perform(["status", "--data", "copy"]);
  expect(status.stdout).toMatch(/^paused +since its restore .*`wadi resume`/m);
  expect((await second.chat("Hello", { key: server.key })).status).toBe(201);
  const resumed = await room.perform(["resume", "--data", "copy"]);
  expect(resumed.stdout).toMatch(/^installation +is no longer paused$/m);
  const after = await room.perform(["status", "--json", "--data", "copy"]);
  expect(JSON.parse(after.stdout).installation.paused_at).toBeNull();
  second.signal("SIGTERM");
  expect(await second.exited).toBe(0);
});

test("a backup holds the key where it is asked for, and a restore writes it where asked", async () => {
  await room.perform(["backup", "with-key.backup", "--with-key"]);
  const without = await room.perform(["restore", "with-key.backup", "--data", "without"]);
  expect(without.stderr).toContain("this backup holds it, for --with-key");
  expect(readdirSync(at("without"))).not.toContain("secrets.key");
  const restored = await room.perform([
    "restore",
    "with-key.backup",
    "--with-key",
    "--data",
    "with",
  ]);
  expect(restored.stderr).toStartWith("it is paused: ");
  const key = at("with/secrets.key");
  expect(readFileSync(key)).toEqual(readFileSync(at("wadi-data/secrets.key")));
  expect(statSync(key).mode & 0o777).toBe(0o600);
  const checked = await room.perform(["check", "--json", "--data", "with"]);
  const rows = JSON.parse(checked.stdout) as { what: string; status: string; says: string }[];
  expect(rows.find(({ what }) => what === "secrets key")).toMatchObject({ status: "ok" });
  const data = rows.find(({ what }) => what === "data");
  expect(data).toMatchObject({ status: "warn", says: expect.stringContaining("`wadi resume`") });
});

test("a move to a directory takes the key along, and the source names the target", async () => {
  const moving = await room.perform(["move", "--to", "elsewhere"]);
  expect(moving.stderr).toStartWith(
    "wadi: another wadi process (a server, a move or a restore) uses wadi-data: ",
  );
  // A move that fails leaves no key behind.
  expect(existsSync(at("elsewhere/secrets.key"))).toBe(false);
  server.signal("SIGTERM");
  await server.exited;
  const moved = await room.run(["move", "--to", "elsewhere", "--json"]);
  expect([moved.code, JSON.parse(moved.stdout)]).toMatchObject([
    ...[0, { place: at("elsewhere"), is_resumed: false, has_secrets_key: true }],
  ]);
  const key = at("elsewhere/secrets.key");
  expect(moved.stderr).toEndWith(`without \`database\`; the secrets key is ${key}\n`);
  expect(readFileSync(key)).toEqual(readFileSync(at("wadi-data/secrets.key")));
  expect(statSync(key).mode & 0o777).toBe(0o600);
  const left = await room.run(["serve", "--port", "0"]);
  expect([left.code, left.stderr]).toEqual([
    1,
    expect.stringContaining(`was moved to ${at("elsewhere")} at`),
  ]);
  const target = await room.serve(["serve", "--port", "0", "--data", "elsewhere"]);
  expect(target.banner.join("\n")).not.toContain("paused");
  expect((await target.chat("Hello", { key: server.key })).status).toBe(201);
  const rotated = await room.perform(["secrets", "rotate", "--data", "elsewhere"]);
  expect(rotated.stdout).toBe("1 secret sealed again\n");
});

test("a move of secrets whose key is missing names that key", async () => {
  await room.perform(["restore", "one.backup", "--data", "keyless"]);
  const moved = await room.perform(["move", "--data", "keyless", "--to", "apart", "--json"]);
  expect([moved.code, JSON.parse(moved.stdout)]).toMatchObject([0, { has_secrets_key: false }]);
  const [key, place] = moved.stderr.split("\n");
  expect(key).toMatch(
    /^the key of its secrets \([0-9a-f]{16}\) is not in \S*\/apart\/secrets.key: /,
  );
  expect(place).toBe("name it as `data` in `[server]`, without `database`");
});

test("a move without a target, and commands about another machine, are wrong usage", async () => {
  const move = await room.perform(["move"]);
  expect([move.code, move.stderr]).toEqual([
    ...[2, "wadi: move needs --to or --to-env: postgres://… or a directory\n"],
  ]);
  const remote = await room.perform(["backup", "x", "--server", "http://127.0.0.1:1"]);
  expect([remote.code, remote.stderr]).toEqual([
    ...[2, "wadi: this command works on the data of this machine: drop --server\n"],
  ]);
});

const SERVER = { WADI_SERVER__DATABASE: "postgres://wadi:s3cret@127.0.0.1:1/wadi" };

test.each([
  ["restore", ["restore", "one.backup", "--yes"]],
  ["backup", ["backup", "two.backup"]],
  ["move", ["move", "--to", "nowhere"]],
])("%s with --data beside settings that name PostgreSQL is refused", async (_, args) => {
  const { code, stderr } = await room.perform([...args, "--data", "copy"], { env: SERVER });
  expect([code, stderr]).toEqual([
    2,
    "wadi: --data names a directory, but the data are on PostgreSQL at 127.0.0.1:1/wadi: " +
      "drop --data, or name settings without `database` by --config; until a move is over, " +
      "leave its new place out of the settings\n",
  ]);
});

test("a variable may hold the target of a move, its scheme in any case", async () => {
  const move = (variable: string, ...more: string[]) =>
    room.perform(["move", "--data", "copy", "--to-env", variable, ...more], {
      env: { TARGET: SERVER.WADI_SERVER__DATABASE.replace("postgres", "POSTGRES") },
    });
  const { code, stderr } = await move("TARGET");
  expect([code, stderr]).toEqual([
    1,
    "wadi: PostgreSQL at 127.0.0.1:1 does not answer: start it, or correct the address\n",
  ]);
  expect((await move("NONE")).stderr).toBe("wadi: --to-env: the variable NONE is not set\n");
  expect((await move("TARGET", "--to", "x")).code).toBe(2);
});

test.each([
  "mysql://u:s3cret@h/db",
  "postgress://u:s3cret@h/db",
  "postgres:u:s3cret@h/db",
  "file:elsewhere",
])("a move to the address %s moves nothing", async (target) => {
  const before = readdirSync(room.directory);
  const refusal =
    'neither an address postgres://… nor a directory; write "./" before a directory with a colon\n';
  const named = await room.perform(["move", "--data", "elsewhere", "--to", target]);
  expect([named.code, named.stderr]).toEqual([2, `wadi: --to holds ${refusal}`]);
  const held = await room.perform(["move", "--data", "elsewhere", "--to-env", "TARGET"], {
    env: { TARGET: target },
  });
  expect(held.stderr).toBe(`wadi: --to-env: the variable TARGET holds ${refusal}`);
  expect(readdirSync(room.directory)).toEqual(before);
});

test("a move to the directory of its source says so", async () => {
  const { code, stderr } = await room.perform(["move", "--data", "copy", "--to", "./copy"]);
  expect([code, stderr]).toEqual([
    ...[1, expect.stringMatching(/^wadi: the data are in copy already, say the settings; if they/)],
  ]);
});

test("a key in place that is not that of the backup is not taken for it", async () => {
  const restored = await room.perform(["restore", "with-key.backup", "--data", "wrong"]);
  expect(restored.stderr).toContain("this backup holds it, for --with-key");
  writeFileSync(at("wrong/secrets.key"), `${"A".repeat(43)}=\n`);
  const again = ["restore", "with-key.backup", "--data", "wrong", "--yes", "--with-key"];
  expect(await room.perform(again)).toMatchObject({
    code: 1,
    stderr: "wadi: wrong/secrets.key is another secrets key: move it away, or name another place\n",
  });
  rmSync(at("wrong/secrets.key"));
  const { code, stderr } = await room.perform(again);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^it is paused: /)]);
});
