// `wadi serve` as compiled: its first start, its data, and the command line beside it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { nameUser } from "../../src/platform/process.ts";
import {
  type Ended,
  openRoom,
  type Room,
  type RunOptions,
  type Server,
} from "../support/binary.ts";
import { openServer } from "../support/database.ts";

const POSTGRES = process.env.WADI_TEST_POSTGRES;

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

/** Behaviour of a server on any engine; `options` locate its data. */
function describeServer(options: () => RunOptions) {
  let server: Server;
  const start = () => room.serve(["serve", "--port", "0"], options());
  const read = ({ code, stdout }: Ended) => {
    expect(code).toBe(0);
    return stdout.trim();
  };
  const run = async (line: string) => read(await room.perform(line.split(" "), options()));

  test("a first start creates one account with one key, kept in a file and not printed", async () => {
    server = await start();
    expect(server.banner.length).toBeLessThanOrEqual(12);
    const file = join("wadi-data", "first-key");
    expect(server.banner).toContain(`key       in ${file}`);
    expect(server.banner.join("\n")).not.toContain("svc_sk_");
    expect(statSync(join(room.directory, file)).mode & 0o777).toBe(0o600);
    expect(server.key).toMatch(/^svc_sk_[0-9A-Za-z]{49}$/);
    expect((await server.chat("Hello")).status).toBe(201);
    expect(await run("operators list --json")).toContain(`"name":"${nameUser()}"`);
    expect(JSON.parse(await run("keys list --json"))).toMatchObject([
      {
        account: "default",
        name: "first",
        scopes: ["reasoning", "think", "embeddings", "search", "agents"],
      },
    ]);
  });

  test("a key created beside a running server is accepted, and refused once it is revoked", async () => {
    await run("accounts create acme");
    const key = await run("keys create --account acme --max-output-tokens 3");
    expect((await server.chat("Hello", { key })).status).toBe(201);
    const [{ id }] = JSON.parse(await run("keys list --account acme --json"));
    await run(`keys revoke ${id}`);
    const refused = await server.chat("Hello", { key });
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({ error: { code: "invalid_api_key" } });
  });

  test("keys created concurrently beside a running server are all accepted", async () => {
    await run("accounts create crowd");
    const line = ["keys", "create", "--account", "crowd"];
    const made = Array.from({ length: 4 }, () => room.run(line, options()));
    for (const key of (await Promise.all(made)).map(read)) {
      expect((await server.ask("GET", "/v1/models", { key })).status).toBe(200);
    }
  });

  test("each start keeps a link to the console in a file, and it signs in once", async () => {
    const file = join("wadi-data", "console-link");
    expect(server.banner).toContain(`console   by the link in ${file}`);
    expect(server.banner.join("\n")).not.toContain("wadi_link_");
    expect(statSync(join(room.directory, file)).mode & 0o777).toBe(0o600);
    const link = (await Bun.file(join(room.directory, file)).text()).trim();
    const [page, token] = link.split("#");
    expect(page).toBe(`${server.url}/console/`);
    const trade = async () => {
      const headers = { origin: server.url };
      const body = JSON.stringify({ token });
      return (await fetch(`${server.url}/console/session`, { method: "POST", headers, body }))
        .status;
    };
    expect([await trade(), await trade()]).toEqual([200, 401]);
    const [session] = JSON.parse(await run("operators sessions --json"));
    expect(session).toMatchObject({ operator: nameUser(), address: "127.0.0.1" });
    await run(`operators end ${session.id}`);
    expect(JSON.parse(await run("operators sessions --json"))).toEqual([]);
  });

  test("a second start keeps the keys of the first, and prints none", async () => {
    const { key } = server;
    server.signal("SIGTERM");
    expect(await server.exited).toBe(0);
    server = await start();
    expect(server.key).toBe("");
    expect(server.banner.join("\n")).not.toContain("svc_sk_");
    expect(server.banner.at(-1)).toContain('-H "Authorization: Bearer $KEY"');
    expect((await server.chat("Hello", { key })).status).toBe(201);
  });

  test("a killed server starts again at once with all its keys", async () => {
    const key = await run("keys create --no-account");
    server.signal("SIGKILL");
    expect(await server.exited).toBeNull();
    server = await start();
    expect((await server.chat("Hello", { key })).status).toBe(201);
    server.signal("SIGTERM");
    expect(await server.exited).toBe(0);
  });
}

describe("on a data directory", () => {
  describeServer(() => ({}));

  test("other users cannot read its files", () => {
    const modeOf = (...path: string[]) =>
      (statSync(join(room.directory, "wadi-data", ...path)).mode & 0o777).toString(8);
    expect(modeOf()).toBe("700");
    for (const file of ["wadi.db", "serve.lock"]) expect(modeOf(file)).toBe("600");
  });

  test("a first start on a terminal prints its key, and stores it nowhere", async () => {
    const shown = await room.show(["serve", "--port", "0", "--data", "seen"]);
    const [, key] = /^key {7}(svc_sk_[0-9A-Za-z]{49})$/m.exec(shown)!;
    expect(shown).toContain(`-H 'Authorization: Bearer ${key}'`);
    expect(existsSync(join(room.directory, "seen", "first-key"))).toBeFalse();
    expect(shown).toMatch(/^Open the console: http:\S+\/console\/#wadi_link_\w{49}$/m);
    expect(existsSync(join(room.directory, "seen", "console-link"))).toBeFalse();
  });

  test("a first key that cannot be stored is reported as lost, with the command for another", async () => {
    mkdirSync(join(room.directory, "stuck", "first-key", "inside"), { recursive: true });
    const ended = await room.run(["serve", "--port", "0", "--data", "stuck"]);
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toContain("wadi keys rotate KEY_ID");
  });

  test("a link to the console that cannot be stored stops no start", async () => {
    const data = join(room.directory, "linked");
    mkdirSync(join(data, "console-link", "inside"), { recursive: true });
    // The file of the first key replaces a link, and never follows it.
    const file = join(data, "first-key");
    const other = join(room.directory, "other");
    writeFileSync(other, "theirs");
    symlinkSync(other, file);
    const server = await room.serve(["serve", "--port", "0", "--data", "linked"]);
    expect(server.banner.join("\n")).toMatch(/^console {3}no link: /m);
    expect(readFileSync(other, "utf8")).toBe("theirs");
    expect(lstatSync(file)).toMatchObject({ mode: 0o100600 });
  });

  test("a start that lacks its database is refused, unless the loss is accepted", async () => {
    const data = join(room.directory, "lost");
    mkdirSync(data);
    writeFileSync(join(data, "secrets.key"), `${"A".repeat(43)}=\n`, { mode: 0o600 });
    const line = ["serve", "--port", "0", "--data", "lost"];
    const refused = await room.run(line);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("or go on without it with `wadi serve --accept-loss`");
    const server = await room.serve([...line, "--accept-loss"]);
    expect((await server.chat("Hello")).status).toBe(201);
  });

  test("without the operator API a start makes no link to the console", async () => {
    const env = { WADI_OPERATOR__ENABLED: "false" };
    const server = await room.serve(["serve", "--port", "0", "--data", "closed"], { env });
    expect(server.banner.join("\n")).not.toContain("console");
    expect(existsSync(join(room.directory, "closed", "console-link"))).toBeFalse();
  });

  test("the printed command for a caller's own key works when it is pasted into a shell", async () => {
    const server = await room.serve(["serve", "--port", "0"]);
    const key = (await room.perform(["keys", "create", "--no-account"])).stdout.trim();
    if (!Bun.which("curl")) return;
    const script = `${server.banner.at(-1)} -sS`;
    const pasted = await room.run(["-c", script], { command: ["sh"], env: { KEY: key } });
    expect(pasted.stderr).toBe("");
    expect(JSON.parse(pasted.stdout)).toMatchObject({ object: "chat.completion" });
  });
});

if (!POSTGRES) test.skip("`wadi serve` on the PostgreSQL of WADI_TEST_POSTGRES", () => {});
else {
  describe("on PostgreSQL", () => {
    const setup = openServer(POSTGRES, false);
    const env = { WADI_SERVER__DATABASE: "" };
    beforeAll(async () => {
      const place = await setup.makePlace();
      if (place.kind === "postgres") env.WADI_SERVER__DATABASE = place.url;
    });
    afterAll(() => setup.release());

    // A schema without data would look like an installation to `wadi move`.
    test("a command creates nothing in an empty database", async () => {
      const status = await room.run(["status"], { env });
      expect(status).toMatchObject({ code: 1, stdout: "" });
      expect(status.stderr).toContain("there is no database in PostgreSQL at");
      const check = await room.run(["check"], { env });
      expect(check.stdout).toContain("there is no database yet");
    });

    describeServer(() => ({ env }));

    test("a second server on the same database is refused", async () => {
      const first = await room.serve(["serve", "--port", "0"], { env });
      const { host } = new URL(POSTGRES);
      expect(first.banner).toContainEqual(expect.stringContaining(`PostgreSQL at ${host}/`));
      const second = await room.run(["serve", "--port", "0"], { env });
      expect(second).toMatchObject({ code: 1, stdout: "" });
      expect(second.stderr).toMatch(/^wadi: another wadi process .* uses .*\n$/);
      first.signal("SIGTERM");
      expect(await first.exited).toBe(0);
    });
  });
}
