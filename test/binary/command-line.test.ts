// The compiled program's command line: results on stdout, messages on stderr, and exit codes.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openRoom, type Room } from "../support/binary.ts";

let room: Room;
beforeAll(async () => {
  room = openRoom();
  expect((await room.perform(["accounts", "create", "acme"])).code).toBe(0);
});
afterAll(() => room.close());

const run = (line: string) => room.perform(line.split(" ").filter(Boolean));
/** One JSON document and nothing else. */
const parse = (stdout: string) => {
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  return JSON.parse(stdout);
};

describe("help", () => {
  test("`wadi` alone lists every family of commands", async () => {
    const { code, stdout, stderr } = await run("");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const family of ["dev", "serve", "accounts", "keys", "openapi"]) {
      expect(stdout).toMatch(new RegExp(` ${family}[ ,]`));
    }
    for (const line of ["help", "--help", "-h"]) expect((await run(line)).stdout).toBe(stdout);
  });

  test("a command lists its arguments", async () => {
    const { code, stdout } = await run("keys create --help");
    expect(code).toBe(0);
    expect(stdout).toContain("--account NAME");
    expect((await run("help keys create")).stdout).toBe(stdout);
    const family = await run("keys --help");
    expect(family.stdout).toContain("wadi keys list");
    expect(await run("keys")).toEqual(family);
  });
});

test("a grant lets an account call an external model, and can be revoked", async () => {
  for (const [verb, granted] of [
    ["grant", true],
    ["ungrant", false],
  ] as const) {
    const { code, stdout } = await run(`accounts ${verb} acme stub-1 --json`);
    expect([code, parse(stdout)]).toEqual([0, { account: "acme", model: "stub-1", granted }]);
  }
  const { code, stderr } = await run("accounts grant acme stub-2");
  expect([code, stderr]).toEqual([1, 'wadi: there is no model "stub-2"; did you mean "stub-1"?\n']);
});

test("a hold on an account shows its reason and start, and can be released", async () => {
  const { code, stdout } = await room.perform([
    "accounts",
    "hold",
    "acme",
    "--reason",
    "not paid",
    "--json",
  ]);
  const { id, since, ...held } = parse(stdout);
  expect([code, held]).toEqual([0, { kind: "account", account_id: id, reason: "not paid" }]);
  expect(new Date(since).toISOString()).toBe(since);
  expect(parse((await run("accounts hold acme --json")).stdout)).toMatchObject({
    reason: null,
    since,
  });
  for (const says of ["", "it was not held\n"]) {
    const { code, stdout, stderr } = await run("accounts release acme --json");
    const released = { account: "acme", held: false };
    expect([code, stderr, parse(stdout)]).toEqual([0, says, released]);
  }
});

describe("wrong usage is exit code 2 and one sentence on stderr", () => {
  const lines = [
    "devv",
    "keys creat",
    "--port 0 dev",
    "dev --prot 0",
    "dev --host 0.0.0.0",
    "dev --port abc",
    "dev --port 99999",
    "dev --key spaced\tkey",
    "dev --now tomorrow",
    "dev --now 2027-02-30",
    "dev --now 2027-01-05T09:30:00.5Z",
    "serve --port -1",
    "serve --host /tmp",
    "keys create",
    "keys create --account acme --no-account",
    "keys create --account acme --expires soon",
    "keys create --account acme --max-output-tokens many",
    "keys revoke",
    "keys rotate",
    "keys rotate abc --overlap soon",
    "keys update abc",
    "keys update abc --scope think --no-scopes",
    "models off",
    "models list stub-1",
    "models probe",
    "models probe http://127.0.0.1:1 --api-key-env sk-it-self",
    "init a.toml b.toml",
    "check stub-1",
    "accounts create",
    "runs list --status done",
    "runs list --limit 0",
    "usage --by week",
    "usage --from 2026-02-30",
    "usage --to yesterday",
  ];
  for (const line of lines) {
    test(line, async () => {
      const { code, stdout, stderr } = await run(line);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/^wadi: .+\n$/);
    });
  }
});

describe("a refusal is exit code 1 and one sentence on stderr", () => {
  const lines: [line: string, says: string][] = [
    ["accounts create acme", "exists already"],
    ["accounts create a/b", "1 to 64"],
    ["keys create --account acmee", 'did you mean "acme"?'],
    ["keys create --account acme --scope thinks", 'did you mean "think"?'],
    ["keys create --account acme --model stub1", 'did you mean "stub-1"?'],
    ["keys create --account acme --expires 0s", "at least 1"],
    ["keys list --account acmee", 'did you mean "acme"?'],
    ["keys revoke abc", "`wadi keys list`"],
    ["keys rotate abc", "`wadi keys list`"],
    ["keys show abc", "`wadi keys list`"],
    ["keys rotate 00000000-0000-4000-8000-000000000000", "there is no key"],
    ["models off stub1", 'did you mean "stub-1"?'],
    ["models block svc", "is the alias of stub-1"],
    ["models list --data nowhere", "there is no database in nowhere"],
    ["usage --from 2026-11-21 --to 2026-11-20", "the first day comes first"],
    ["accounts ungrant acme stub1", 'did you mean "stub-1"?'],
    ["models probe http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1: no server listens there"],
    ["models probe ftp://127.0.0.1", "http or https"],
    ["models probe 127.0.0.1:1 --api-key-env NO_SUCH_KEY", "NO_SUCH_KEY is not set"],
    ["models probe 127.0.0.1:1 --config nowhere.toml", "nowhere.toml does not exist"],
    ["init nowhere/wadi.toml", "the directory of nowhere/wadi.toml does not exist"],
    ["openapi --config nowhere.toml", "nowhere.toml does not exist"],
    ["version --config nowhere.toml", "nowhere.toml does not exist"],
    ["keys list --data nowhere", "there is no database in nowhere"],
  ];
  for (const [line, says] of lines) {
    test(line, async () => {
      const { code, stdout, stderr } = await run(line);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^wadi: .+\n$/);
      expect(stderr).toContain(says);
    });
  }

  test("a mistyped data directory is not created", async () => {
    const { stderr } = await run("accounts list --data nowhere");
    expect(await run("accounts list --data nowhere")).toMatchObject({ code: 1, stderr });
  });
});

test("a new key's secret is the only output on stdout", async () => {
  const made = await run("keys create --account acme --name laptop --scope think --expires 90d");
  expect(made.code).toBe(0);
  expect(made.stdout).toMatch(/^svc_sk_[0-9A-Za-z]{49}\n$/);
  expect(made.stderr).toMatch(/^key [0-9a-f-]{36} created; it is shown only now:\n$/);
});

test("keys of every kind are listed, without their secrets", async () => {
  const lines = ["--account acme --name secretive", "--no-account", "--no-account --internal"];
  const secrets = [];
  for (const line of lines) secrets.push((await run(`keys create ${line}`)).stdout.trim());
  const table = await run("keys list");
  const json = await run("keys list --json");
  for (const secret of secrets) {
    expect(secret).toStartWith("svc_sk_");
    expect(table.stdout + json.stdout).not.toContain(secret);
  }
  expect(table.stdout).toMatch(
    /^ID +ACCOUNT +NAME +KIND +SCOPES +MODELS +EXPIRES_AT +REVOKED_AT\n/,
  );
  expect(parse(json.stdout)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ account: "acme", name: "secretive", kind: "ordinary" }),
      expect.objectContaining({ account: null, account_id: null, kind: "ordinary" }),
      expect.objectContaining({ account: null, kind: "internal" }),
    ]),
  );
});

test("--json of each command is one document", async () => {
  const account = parse((await run("accounts create json --json")).stdout);
  expect(account).toEqual({
    id: expect.any(String),
    name: "json",
    created_at: expect.stringMatching(/Z$/),
  });
  expect(parse((await run("accounts list --json")).stdout)).toContainEqual({
    ...account,
    held_since: null,
    hold_reason: null,
    stored_bytes: 0,
    agents: 0,
    granted_models: [],
  });
  const key = parse((await run("keys create --account json --json")).stdout);
  const { secret, ...shown } = key;
  expect(secret).toStartWith("svc_sk_");
  expect(shown).toMatchObject({ account_id: account.id, revoked_at: null });
  const listed = parse((await run("keys list --account json --json")).stdout);
  const seen = { ...shown, account: "json", ends_in: secret.slice(-4), last_used_at: null };
  expect(listed).toEqual([seen]);
  const other = parse((await run("keys create --no-account --json")).stdout);
  const work = { active_runs: 0, open_streams: null };
  expect(parse((await run(`keys show ${key.id} --json`)).stdout)).toEqual({ ...seen, ...work });
  const scoped = parse((await run(`keys update ${key.id} --scope think --json`)).stdout);
  expect(scoped).toEqual({ ...shown, scopes: ["think"] });
  const bare = parse((await run(`keys update ${key.id} --no-scopes --json`)).stdout);
  expect(bare).toEqual(shown);
  const revoked = parse((await run(`keys revoke ${key.id} --json`)).stdout);
  expect(revoked).toEqual({ ...shown, revoked_at: expect.stringMatching(/Z$/) });
  const rotated = parse((await run(`keys rotate ${other.id} --json`)).stdout);
  expect(rotated).toEqual({
    ...other,
    secret: expect.stringMatching(/^svc_sk_/),
    previous_secret_expires_at: expect.stringMatching(/Z$/),
  });
  const model = parse((await run("models off stub-1 --json")).stdout);
  expect(model).toMatchObject({ id: "stub-1", state: "off", first_seen_at: expect.any(String) });
  expect(parse((await run("models list --json")).stdout)).toEqual([model]);
  for (const [verb, state] of [
    ["block", "blocked"],
    ["unblock", "off"],
    ["on", "on"],
  ] as const) {
    const turned = parse((await run(`models ${verb} stub-1 --json`)).stdout);
    expect(turned).toMatchObject({ id: "stub-1", state });
  }
  const version = parse((await run("version --json")).stdout);
  expect(Object.keys(version)).toEqual(["version", "commit", "bun", "sqlite"]);
  expect(parse((await run("openapi --json")).stdout)).toMatchObject({ openapi: "3.1.0" });
});

test("an account is deleted only with --yes, and its keys with it", async () => {
  expect((await run("accounts create leaving")).code).toBe(0);
  const key = parse((await run("keys create --account leaving --json")).stdout);
  const counted = await run("accounts delete leaving --json");
  expect(counted.code).toBe(1);
  expect(counted.stderr).toContain("nothing was deleted");
  expect(parse(counted.stdout).contents).toContainEqual({ what: "keys", rows: 1 });
  const deleted = await run("accounts delete leaving --yes --json");
  expect(deleted.code).toBe(0);
  expect(deleted.stderr).toStartWith("deleting leaving (keys: 1)\n");
  expect(parse(deleted.stdout)).toMatchObject({ account: "leaving" });
  expect((await run(`keys show ${key.id}`)).stderr).toContain("there is no key");
  expect((await run("accounts list")).stdout).not.toContain("leaving");
  const entries = parse((await run("audit list --limit 1 --json")).stdout);
  expect(entries).toMatchObject([{ target: "leaving", outcome: "done", state_after: null }]);
});

test("settings are listed before there is a database, and a status only where there is one", async () => {
  const cwd = join(room.directory, "empty");
  mkdirSync(cwd);
  const env = { WADI_LIMITS__TOOLS: "7" };
  const listed = await room.perform(["config", "--json"], { cwd, env });
  expect(listed.code).toBe(0);
  expect(parse(listed.stdout)).toContainEqual({
    ...{ name: "limits.tools", value: 7, origin: "environment", needs_restart: false },
  });
  expect((await room.perform(["config"], { cwd })).stdout).toMatch(
    /^server.host +"127.0.0.1" +def/m,
  );
  expect((await room.perform(["status"], { cwd })).stderr).toContain("there is no database");
  const status = await run("status");
  expect(status.stdout).toMatch(/^server +not asked/m);
  expect(parse((await run("status --json")).stdout)).toMatchObject({
    ...{ server: null, runs: { queued: 0 }, database: { kind: "sqlite" } },
  });
});

test("the printed OpenAPI document equals the one that a server serves", async () => {
  const { code, stdout } = await run("openapi");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual(parse((await run("openapi --json")).stdout));
  expect(stdout.split("\n").length).toBeGreaterThan(100);
});

test("a closed pipe causes no crash, and a full disk is reported", async () => {
  const shell = (script: string) => room.run(["-c", script], { command: ["sh"] });
  const program = (await import("../../scripts/build.ts")).executable();
  const left = await shell(`'${program}' openapi | true`);
  expect(left).toEqual({ code: 0, stdout: "", stderr: "" });
  if (!(await Bun.file("/dev/full").exists())) return;
  const full = await shell(`'${program}' version > /dev/full`);
  expect(full).toMatchObject({ code: 1, stderr: expect.stringMatching(/^wadi: ENOSPC.*\n$/) });

  // The unseen secret is lost and its key exists: the message says what to do.
  const lost = await shell(`'${program}' keys create --no-account --name lost > /dev/full`);
  const id = /^key (\S+) created/.exec(lost.stderr)?.[1];
  expect(lost.code).toBe(1);
  expect(lost.stderr).toContain(`key ${id} in force: \`wadi keys rotate ${id} --overlap 0s\``);
  expect(lost.stderr).toContain(`\`wadi keys revoke ${id}\``);
  expect(parse((await run("keys list --json")).stdout)).toContainEqual(
    expect.objectContaining({ id, name: "lost", revoked_at: null }),
  );
  const start = await shell(`'${program}' serve --port 0 --data fresh > /dev/full`);
  expect(start).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^wadi: ENOSPC.*`wadi keys rotate KEY_ID` gives it another\n$/),
  });
});
