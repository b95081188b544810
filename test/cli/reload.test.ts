// Tests reloads alone: their triggers, their log lines, and that no two overlap.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SettingsReload } from "../../src/cli/reload.ts";
import { MISSING, readStamp } from "../../src/platform/file-watch.ts";
import { createLog } from "../../src/platform/log.ts";
import {
  copySource,
  defaultSettings,
  loadSettings,
  type Settings,
} from "../../src/settings/index.ts";
import { localCertificate } from "../support/certificate.ts";
import { createManualClock } from "../support/clock.ts";

const directory = mkdtempSync(join(tmpdir(), "wadi-reloading-"));
afterAll(() => rmSync(directory, { recursive: true }));

const writeLimit = (limit: number) => `[limits]\nrequests_per_minute = ${limit}\n`;

let files = 0;
/** Reloads a file with a limit of 1; `change` applies settings as the app does. */
function open(change: (settings: Settings) => Promise<void> = async () => {}) {
  const path = join(directory, `wadi-${++files}.toml`);
  writeFileSync(path, writeLimit(1));
  const clock = createManualClock();
  const lines: [level: string, message: string][] = [];
  const taken: number[] = [];
  const write = (line: string) => {
    const { level, message, what, reason, service } = JSON.parse(line);
    const text = [message, what, reason, service].filter((part) => part).join(": ");
    lines.push([level, text.replaceAll(path, "wadi.toml")]);
  };
  const read = () => loadSettings({ file: path, mustExist: true, env: {}, flags: {} });
  const reloading = new SettingsReload({
    file: { path, stamp: readStamp(path), read },
    settings: read(),
    clock,
    log: createLog(clock, write, false),
  });
  const app = {
    async change(settings: Settings) {
      taken.push(settings.limits.requests_per_minute);
      await change(settings);
      return true;
    },
  };
  return { path, clock, lines, taken, reloading, app };
}

test("a pipe in place of the file is refused and never opened", async () => {
  const { path, clock, lines, taken, reloading, app } = open();
  reloading.start(app);
  rmSync(path);
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
  // The pipe has no writer: opening it would block forever.
  reloading.reload();
  await clock.advance(0);
  expect(taken).toEqual([]);
  const says =
    "settings: refused, the old ones stay: wadi.toml is a pipe: put a file there, and reload";
  expect(lines).toEqual([["error", says]]);
  reloading.stop();
});

test("a signal reloads the file at once, and the log confirms it", async () => {
  const { path, clock, lines, taken, reloading, app } = open();
  reloading.start(app);
  writeFileSync(path, writeLimit(2));
  reloading.reload();
  await clock.advance(0);
  expect(taken).toEqual([2]);
  expect(lines).toEqual([["info", "settings: reloaded: limits.requests_per_minute 1 -> 2"]]);
  expect(reloading.settings.limits.requests_per_minute).toBe(2);
  // The file watch knows the version that the signal has read.
  await clock.advance(10_000);
  expect(taken).toEqual([2]);
  reloading.reload();
  await clock.advance(0);
  expect(lines.at(-1)).toEqual(["info", "settings: reloaded, nothing has changed"]);
  reloading.stop();
  expect(clock.pending()).toBe(0);
});

test("a changed file is reloaded by itself, and an invalid one is refused once", async () => {
  const { path, clock, lines, taken, reloading, app } = open();
  reloading.start(app);
  writeFileSync(path, "[limits]\nrequests_per_minute = 0\n");
  await clock.advance(60_000);
  expect(lines).toEqual([
    [
      "error",
      "settings: refused, the old ones stay: wadi.toml:2:1: limits.requests_per_minute must be " +
        "an integer from 1 to 1000000, but is 0",
    ],
  ]);
  rmSync(path);
  await clock.advance(60_000);
  expect(lines.length).toBe(2);
  expect(lines[1]).toMatchObject(["error", expect.stringContaining("wadi.toml does not exist")]);
  expect([taken, reloading.settings.limits.requests_per_minute]).toEqual([[], 1]);
  expect(reloading.fault).toContain("does not exist");
  writeFileSync(path, writeLimit(3));
  await clock.advance(60_000);
  expect([taken, reloading.fault]).toEqual([[3], null]);
});

test("several requests during a reload cause one more reload", async () => {
  const first = Promise.withResolvers<void>();
  let running = 0;
  const { path, clock, taken, reloading, app } = open(async () => {
    expect(++running).toBe(1);
    if (taken.length === 1) await first.promise;
    running -= 1;
  });
  reloading.start(app);
  writeFileSync(path, writeLimit(2));
  reloading.reload();
  for (const limit of [3, 4, 5]) {
    writeFileSync(path, writeLimit(limit));
    reloading.reload();
    await clock.advance(0);
  }
  expect(taken).toEqual([2]);
  first.resolve();
  await clock.advance(0);
  expect(taken).toEqual([2, 5]);
});

test("settings that the app rejects are not in force, and can be requested again", async () => {
  let fails = true;
  const reason = "x".repeat(501);
  const { path, clock, lines, reloading, app } = open(async () => {
    if (fails) throw new Error(reason);
  });
  reloading.start(app);
  writeFileSync(path, writeLimit(2));
  reloading.reload();
  await clock.advance(0);
  expect(lines).toEqual([["error", "settings: refused, the old ones stay"]]);
  expect(reloading.fault).toBe(`${reason.slice(1)}…`);
  expect(reloading.settings.limits.requests_per_minute).toBe(1);
  fails = false;
  reloading.reload();
  await clock.advance(0);
  expect(reloading.settings.limits.requests_per_minute).toBe(2);
});

test("a reload requested before the server runs happens once it does", async () => {
  const { path, clock, taken, reloading, app } = open();
  writeFileSync(path, writeLimit(2));
  reloading.reload();
  await clock.advance(0);
  expect(taken).toEqual([]);
  reloading.start(app);
  await clock.advance(0);
  expect(taken).toEqual([2]);
});

test("a stopping server reloads nothing", async () => {
  const { path, clock, lines, taken, reloading, app } = open();
  reloading.start(app);
  reloading.stop();
  writeFileSync(path, writeLimit(2));
  reloading.reload();
  await clock.advance(10_000);
  expect([taken, lines]).toEqual([[], []]);
});

test("a name in the file cannot forge a log line", async () => {
  const { path, clock, lines, reloading, app } = open();
  reloading.start(app);
  writeFileSync(path, '"a\\nb\\u001b[2J" = 1\n');
  reloading.reload();
  await clock.advance(0);
  expect(lines[0]![1]).toContain("unknown setting");
  expect(lines[0]![1]).not.toMatch(/\p{Cc}/u);
});

test("a start without a file reports that there is nothing to reload", () => {
  const clock = createManualClock();
  const lines: string[] = [];
  const settings = loadSettings({ mustExist: false, env: {}, flags: {} });
  const log = createLog(clock, (line) => void lines.push(JSON.parse(line).message), false);
  const reloading = new SettingsReload({ file: null, settings, clock, log });
  reloading.start({ change: async () => true });
  reloading.reload();
  expect(lines).toEqual(["settings: nothing to reload, since the start found no file"]);
  expect([clock.pending(), readStamp(join(directory, "none"))]).toEqual([0, MISSING]);
});

test("a stub beside real models gives a warning at the start and at each reload", async () => {
  const { path, clock, lines, reloading, app } = open();
  const real = `[[models]]
id = "real"
upstream = { kind = "openai", urls = ["http://10.0.0.5:8000/v1"] }
`;
  const stubs = '[embeddings]\nkind = "stub"\n[search]\nkind = "stub"\n';
  const reload = async (text: string) => {
    lines.splice(0);
    writeFileSync(path, text);
    reloading.reload();
    await clock.advance(0);
    return lines.filter(([level]) => level === "warn").map(([, message]) => message);
  };
  reloading.start(app);
  // The services of a stub model are stubs by design.
  expect(await reload("")).toEqual([]);
  const says = (name: string) =>
    `settings: a stub answers beside real models; do not store its replies: ${name}`;
  expect(await reload(real + stubs)).toEqual([says("embeddings"), says("search")]);
  // A configured folder has real pages.
  expect(await reload(`${real + stubs}folder = "./docs"\n`)).toEqual([says("embeddings")]);
  reloading.stop();
  lines.splice(0);
  reloading.start(app);
  expect(lines).toEqual([["warn", says("embeddings")]]);
  expect(await reload(real)).toEqual([]);
  reloading.stop();
});

test.each([
  [true, ["the certificate of the server"]],
  [false, []],
])("a new certificate is told only where it is in force: %p", async (isNew, told) => {
  const lines: { message: string; what?: string }[] = [];
  const settings = defaultSettings();
  const server = { ...settings.server, certificate: { cert: localCertificate, key: "k" } };
  const next = { ...settings, server };
  copySource(next, settings);
  const clock = createManualClock();
  const reloading = new SettingsReload({
    file: { path: join(directory, "tls.toml"), stamp: MISSING, read: () => next },
    ...{ settings, clock },
    log: createLog(clock, (line) => void lines.push(JSON.parse(line)), false),
  });
  reloading.start({ change: async () => isNew });
  await reloading.reload();
  const reloaded = lines.filter(({ message }) => message.startsWith("settings: reloaded"));
  expect(reloaded.map(({ what }) => what)).toEqual(told);
  reloading.stop();
});
