// Tests that a check finds faults, and changes nothing.
import { afterAll, afterEach, describe, expect, spyOn, test } from "bun:test";
import * as files from "node:fs";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CheckRow, checkInstallation, openAdmin } from "../../src/admin/index.ts";
import { readSettings } from "../../src/settings/index.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";
import { NO_INSTALLATION } from "../support/installation.ts";
import {
  type ModelServer,
  type Routes,
  refuse,
  startModelServer,
  vllm,
} from "../support/model-servers.ts";
import { findClosedPort } from "../support/ports.ts";

const place = mkdtempSync(join(tmpdir(), "wadi-check-"));
afterAll(() => rmSync(place, { recursive: true }));
const clock = createManualClock();
const started: ModelServer[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop();
});

/** Servers in these tests have the manual clock. */
const start = (routes: Routes, apart_ms = 0): ModelServer => {
  const list = routes["GET /v1/models"]!;
  const date = new Date(clock.now() + apart_ms).toUTCString();
  const server = startModelServer({
    ...routes,
    "GET /v1/models": async (body, request) =>
      Response.json(await list(body, request), { headers: { date } }),
  });
  started.push(server);
  return server;
};
const ALL = ["tools", "streaming", "reasoning", "vision", "structured_outputs"];
const model = (id: string, urls: readonly string[], more = "", capabilities = ALL) => `
[[models]]
id = "${id}"
capabilities = ${JSON.stringify(capabilities)}
[models.upstream]
kind = "openai"
urls = ${JSON.stringify(urls)}
model = "Qwen/Qwen3-32B"
${more}
`;
const check = (
  text: string,
  data = join(place, "absent"),
  env = {},
  checkBackups = async () => {},
) =>
  checkInstallation({
    settings: readSettings(text, "wadi.toml", env, {}),
    settingsName: "wadi.toml",
    place: { kind: "sqlite", file: join(data, "wadi.db") },
    dataName: data,
    secretsKeyFile: join(data, "secrets.key"),
    unusedFile: null,
    checkBackups,
    clock,
    ids: createSeededIds(),
  });
const ofModels = (rows: readonly CheckRow[]) => rows.filter(({ what }) => what === "model");
const find = (rows: readonly CheckRow[], what: CheckRow["what"]) =>
  rows.find((row) => row.what === what)!;

describe("the model servers", () => {
  test("a working server is ok, with its facts and time per token", async () => {
    const { root } = start(vllm());
    const [row] = ofModels(await check(model("qwen", [`${root}/v1`])));
    expect(row).toMatchObject({ status: "ok", name: "qwen", url: `${root}/v1` });
    expect(row!.says).toMatch(/^one token in \d+ ms, listed, healthy, counts tokens$/);
  });

  test("a model that lacks what its first server can do is a warning of its own", async () => {
    const { root } = start(vllm());
    const dead = `http://127.0.0.1:${findClosedPort()}/v1`;
    const rows = ofModels(await check(model("qwen", [`${root}/v1`, dead], "", ["streaming"])));
    expect(rows.map(({ status }) => status)).toEqual(["ok", "fail", "warn"]);
    expect(rows[2]!.says).toMatch(/^its server also does tools.*, which `capabilities` lacks$/);
    expect(rows[2]!.says).not.toContain("streaming");
    const closed = ofModels(await check(model("qwen", [dead], "", [])));
    expect(closed.map(({ status }) => status)).toEqual(["fail"]);
  });

  test("a server whose health the gateway would reject fails, although it answers", async () => {
    const { root } = start(vllm({ "GET /health": () => refuse(503, "sick") }));
    const owned = (more: string) => model("qwen", [`${root}/v1`], more);
    const own = (text: string) => text.replace("[models.up", "self_hosted = true\n[models.up");
    const look = async (text: string) => ofModels(await check(text))[0]!.status;
    expect(await look(own(owned("")))).toBe("fail");
    expect(await look(own(owned('health = "/v1/models"')))).toBe("ok");
    expect(await look(own(owned('health_every = "0s"')))).toBe("warn");
    expect(await look(owned(""))).toBe("warn");
  });

  test("a health route that needs other credentials counts as none", async () => {
    const { root } = start(vllm({ "GET /health": () => refuse(401, "who?") }));
    const [row] = ofModels(await check(model("qwen", [`${root}/v1`])));
    expect(row).toMatchObject({ status: "ok", sight: { is_healthy: null } });
    expect(row!.says).toContain(", listed, no health route, ");
  });

  test("every replica has a row, in the order of the settings; the stub is always ok", async () => {
    const { root } = start(vllm());
    const dead = `http://127.0.0.1:${findClosedPort()}/v1`;
    const stub = '[[models]]\nid = "inside"\nupstream = { kind = "stub" }\n';
    const rows = ofModels(await check(model("qwen", [dead, `${root}/v1`]) + stub));
    expect(rows.map(({ status, name }) => [status, name])).toEqual([
      ["fail", "qwen"],
      ["ok", "qwen"],
      ["ok", "inside"],
    ]);
    expect(rows[0]!.says).toBe("the connection was refused");
  });

  test("a model missing from the server's list and an unhealthy server give warnings", async () => {
    const card = { id: "other", object: "model", owned_by: "vllm" };
    const { root } = start(
      vllm({
        "GET /v1/models": () => ({ data: [card] }),
        "GET /health": () => refuse(500, "sick"),
      }),
    );
    const [row] = ofModels(await check(model("qwen", [`${root}/v1`])));
    expect(row!.status).toBe("warn");
    expect(row!.says).toContain('its list does not name "Qwen/Qwen3-32B", its /health says');
  });

  test("the request carries key, headers and body from the settings", async () => {
    const seen: (string | null)[] = [];
    const { root, bodies } = start(
      vllm({
        "GET /health": (_, request) => {
          seen.push(request.headers.get("authorization"), request.headers.get("x-team"));
          return new Response("");
        },
      }),
    );
    const more = 'api_key_env = "K"\nheaders = { x-team = "a" }\nreasoning_off = { quiet = true }';
    const env = { K: "sk-1" };
    const rows = await check(model("qwen", [`${root}/v1`], more), undefined, env);
    expect(ofModels(rows)[0]!.status).toBe("ok");
    expect(seen).toEqual(["Bearer sk-1", "a"]);
    expect(bodies).toContainEqual(expect.objectContaining({ max_tokens: 1, quiet: true }));
    expect(JSON.stringify(rows)).not.toContain("sk-1");
  });

  test("an address without /v1 gives a hint that /v1 may be missing", async () => {
    const { root } = start(vllm());
    const [row] = ofModels(await check(model("qwen", [root])));
    expect(row!.status).toBe("fail");
    expect(row!.says).toContain("see whether its address needs /v1");
  });

  test("a refused key is a failure, and so is a token that never comes", async () => {
    const closed = start(
      vllm({ "POST /v1/chat/completions": () => refuse(401, "Unauthorized sk-other") }),
    );
    const [row] = ofModels(await check(model("qwen", [`${closed.root}/v1`])));
    expect(row).toMatchObject({
      status: "fail",
      says: "it refuses our key, or the model with it",
    });
    const asked = Promise.withResolvers<void>();
    const silent = start(
      vllm({
        "POST /v1/chat/completions": () => {
          asked.resolve();
          return new Promise<Response>(() => {});
        },
      }),
    );
    const checked = check(model("qwen", [`${silent.root}/v1`]));
    await asked.promise;
    await clock.advance(20_000);
    expect(ofModels(await checked)[0]!.says).toStartWith("it answered no token in 20 s");
  });

  test("at most eight checks run at once", async () => {
    let asked = 0;
    let most = 0;
    const { root } = start(
      vllm({
        "POST /v1/chat/completions": async (body, request) => {
          most = Math.max(most, ++asked);
          const reply = await vllm()["POST /v1/chat/completions"]!(body, request);
          asked--;
          return Response.json(reply);
        },
      }),
    );
    const many = Array.from({ length: 20 }, (_, index) => model(`m${index}`, [`${root}/v1`]));
    const rows = ofModels(await check(many.join("")));
    expect(rows.map(({ status }) => status)).toEqual(many.map(() => "ok"));
    expect(most).toBeLessThanOrEqual(8);
  });
});

test("backups on a timer are checked by their destination", async () => {
  expect(find(await check(""), "backups")).toBeUndefined();
  const settings = '[backup]\nevery = "1h"\nto = "copies"\n';
  const row = { name: "copies", status: "ok", says: "one is made every 1h" };
  expect(find(await check(settings), "backups")).toMatchObject(row);
  const fails = async () => {
    throw new Error("copies is no folder");
  };
  const found = find(await check(settings, undefined, {}, fails), "backups");
  expect(found).toMatchObject({ status: "fail", says: "copies is no folder" });
});

test("a disk with the reserve is ok, and one with a byte less fails", async () => {
  const room = { bavail: 1_000, bsize: 4_096 } as ReturnType<typeof files.statfsSync>;
  using _ = spyOn(files, "statfsSync").mockReturnValue(room);
  const look = async (bytes: number) =>
    find(await check(`[limits]\nfree_disk_bytes = ${bytes}\n`), "disk").status;
  expect([await look(4_096_000), await look(4_096_001)]).toEqual(["ok", "fail"]);
});

describe("the clock", () => {
  test("a server clock more than a minute off gives a warning with its address", async () => {
    const late = start(vllm(), -200_000);
    const right = start(vllm(), 30_000);
    const rows = await check(model("a", [`${late.root}/v1`, `${right.root}/v1`]));
    expect(find(rows, "clock")).toMatchObject({
      status: "warn",
      says: `${new URL(late.root).host} is 3m behind it`,
    });
  });

  test.each([
    [60_000, "ok"],
    [61_000, "warn"],
    [-60_000, "ok"],
    [-61_000, "warn"],
  ] as const)("one that is %p ms ahead is %s", async (apart_ms, status) => {
    const { root } = start(vllm(), apart_ms);
    expect(find(await check(model("qwen", [`${root}/v1`])), "clock").status).toBe(status);
  });

  test("agreeing clocks give one line; without a server time there is none", async () => {
    const { root } = start(vllm());
    const rows = await check(model("a", [`${root}/v1`]));
    expect(find(rows, "clock").status).toBe("ok");
    expect(find(await check(""), "clock")).toBeUndefined();
  });
});

describe("the data", () => {
  test("an empty directory stays empty", async () => {
    const data = join(place, "new", "deep");
    const rows = await check("", data);
    expect(find(rows, "data")).toMatchObject({ status: "ok", name: data });
    expect(find(rows, "data").says).toContain("there is no database yet");
    expect(find(rows, "secrets key").says).toContain("there is none yet");
    expect(existsSync(join(place, "new"))).toBe(false);
  });

  test("a database in use is inspected and left unchanged", async () => {
    const data = join(place, "open");
    const settings = readSettings("", "wadi.toml", {}, {});
    const own = { secretsKeyFile: null, installation: NO_INSTALLATION, warn() {} };
    const deps = { settings, clock, ids: createSeededIds(), ...own };
    const file = { kind: "sqlite" as const, file: join(data, "wadi.db") };
    const { admin, close } = await openAdmin({ ...deps, place: file });
    await admin.accounts.create("acme");
    const before = readdirSync(data);
    expect(find(await check("", data), "data").says).toBe("its schema is this program's");
    expect(readdirSync(data)).toEqual(before);
    await admin.accounts.create("other");
    await close();
    const closed = readdirSync(data);
    expect(find(await check("", data), "data").status).toBe("ok");
    expect(readdirSync(data)).toEqual(closed);
  });

  test("a file that is no database, or no directory, fails with advice", async () => {
    const data = join(place, "garbage");
    mkdirSync(data);
    writeFileSync(join(data, "wadi.db"), "no database at all ".repeat(100));
    expect(find(await check("", data), "data")).toMatchObject({ status: "fail" });
    expect(find(await check("", data), "data").says).toContain("is no database of SQLite");
    const file = join(data, "wadi.db");
    expect(find(await check("", file), "data").says).toContain("cannot be a data directory");
  });

  test("a database that lacks commits or has damaged pages fails", async () => {
    const data = join(place, "lacking");
    const file = join(data, "wadi.db");
    const deps = {
      settings: readSettings("", "wadi.toml", {}, {}),
      clock,
      ids: createSeededIds(),
    };
    const { admin, close } = await openAdmin({
      ...{ ...deps, place: { kind: "sqlite", file }, secretsKeyFile: null, warn() {} },
      installation: NO_INSTALLATION,
    });
    await admin.accounts.create("acme");
    await close();
    const sound = readFileSync(file);
    // The second page is the root of the first table or index.
    writeFileSync(file, Buffer.from(sound).fill(0x79, 4_096, 4_097));
    const damaged = find(await check("", data), "data");
    expect(damaged.status).toBe("fail");
    expect(damaged.says).toStartWith(`${file} is damaged: restore a backup`);
    truncateSync(file, 0);
    const lacking = find(await check("", data), "data");
    expect(lacking.status).toBe("fail");
    expect(lacking.says).toStartWith(`${file} lacks the last 1 of 1 commits: put back the files`);
  });

  test("a secrets key that is readable by others or malformed gives a warning", async () => {
    const data = join(place, "key");
    mkdirSync(data);
    const file = join(data, "secrets.key");
    writeFileSync(file, `${Buffer.alloc(32, 7).toString("base64")}\n`, { mode: 0o600 });
    const row = find(await check("", data), "data");
    expect(row).toMatchObject({ status: "fail" });
    expect(row.says).toContain("its database is missing or empty");
    expect(find(await check("", data), "secrets key")).toMatchObject({ status: "ok" });
    chmodSync(file, 0o644);
    expect(find(await check("", data), "secrets key").says).toContain("chmod 600");
    writeFileSync(file, "none");
    expect(find(await check("", data), "secrets key")).toMatchObject({ status: "warn" });
  });

  test("a secrets key that does not match the stored secrets fails", async () => {
    const data = join(place, "sealed");
    const file = join(data, "secrets.key");
    const { admin, close } = await openAdmin({
      ...{ settings: readSettings("", "wadi.toml", {}, {}), clock, ids: createSeededIds() },
      place: { kind: "sqlite", file: join(data, "wadi.db") },
      secretsKeyFile: file,
      installation: NO_INSTALLATION,
      warn() {},
    });
    await admin.secrets.rotate(false);
    await close();
    const look = async () => find(await check("", data), "secrets key");
    expect(await look()).toMatchObject({ status: "ok", says: "it can be read" });
    const key = readFileSync(file, "latin1");
    const line = (byte: number) => `${Buffer.alloc(32, byte).toString("base64")}\n`;
    writeFileSync(file, line(1));
    const back = "put back the file with which they were sealed";
    const another = `it is another than that of the stored secrets: ${back}`;
    expect(await look()).toMatchObject({ status: "fail", says: another });
    writeFileSync(file, "none");
    expect(await look()).toMatchObject({ status: "fail" });
    rmSync(file);
    expect(await look()).toMatchObject({ status: "fail", says: `it is missing: ${back}` });
    writeFileSync(file, line(1) + key);
    expect(await look()).toMatchObject({ status: "warn" });
    expect((await look()).says).toContain("`wadi secrets rotate` ends a rotation");
    // Two keys, of which neither is that of the stored secrets.
    writeFileSync(file, line(1) + line(2));
    expect(await look()).toMatchObject({ status: "fail", says: another });
  });
});
