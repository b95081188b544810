// The whole app for black-box tests: manual clock, fixed keys of `dev`, optional socket.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Installation, OpenBackend } from "../../src/admin/index.ts";
import { type App, buildApp, WRITER } from "../../src/app.ts";
import type { DatabaseLocation } from "../../src/database/index.ts";
import type { Ids } from "../../src/platform/ids.ts";
import { createLog, type Log } from "../../src/platform/log.ts";
import { readSettings, type Settings } from "../../src/settings/index.ts";
import type { Predecessor } from "../../src/takeover/index.ts";
import { createManualClock, type ManualClock } from "./clock.ts";
import { inlineCompute } from "./compute.ts";
import { createSeededIds } from "./ids.ts";
import { NO_INSTALLATION } from "./installation.ts";
import { openTestPlace } from "./place.ts";

export const KEY = "svc_sk_test";

// Elysia collects garbage at every start of an app, which is a fifth of the time that one takes.
const collect = Bun.gc;
Bun.gc = (force) => (force ? collect(force) : 0);

export interface TestAppOptions {
  /** Text of a wadi.toml; the stub model by default. */
  settings?: string;
  env?: Record<string, string>;
  listens?: boolean;
  start_ms?: number;
  place?: DatabaseLocation;
  /** Seed of the ids; a second app on the same data needs another seed. */
  seed?: number;
  secretsKeyFile?: string | null;
  openBackend?(log: Log): OpenBackend;
  hasOpenMetrics?: boolean;
  installation?: Installation;
  predecessor?: Predecessor;
  /** False: on a shared place too, one app answers, beside those that the test starts itself. */
  isDoubled?: boolean;
}

export interface AskOptions {
  /** null sends no Authorization header. */
  key?: string | null;
  /** An object is sent as JSON, a string or bytes unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface TestApp {
  app: App;
  clock: ManualClock;
  lines: Record<string, unknown>[];
  /** Resolves with the first line with this code, past or future. */
  logged(code: string): Promise<Record<string, unknown>>;
  url: string;
  ask(method: string, path: string, options?: AskOptions): Promise<Response>;
  get(path: string, options?: AskOptions): Promise<Response>;
  post(path: string, body: unknown, options?: AskOptions): Promise<Response>;
  chat(content: string, fields?: object, options?: AskOptions): Promise<Response>;
  stop(): Promise<void>;
}

/** Starts an app; the caller stops it. */
export async function startApp(options: TestAppOptions = {}): Promise<TestApp> {
  const clock = createManualClock(options.start_ms);
  const lines: Record<string, unknown>[] = [];
  const waiting = new Set<() => void>();
  const write = (line: string) => {
    lines.push(JSON.parse(line));
    for (const look of waiting) look();
  };
  const logged = (code: string) =>
    new Promise<Record<string, unknown>>((resolve) => {
      const look = () => {
        const line = lines.find((one) => one.code === code);
        if (line && waiting.delete(look)) resolve(line);
      };
      waiting.add(look);
      look();
    });
  const log = createLog(clock, write, false);
  const { place, release } = await openTestPlace(options.place, WRITER);
  const ids = createSeededIds(options.seed);
  const isShared = place.kind === "postgres" && place.isShared === true;
  const directory = isShared ? mkdtempSync(join(tmpdir(), "wadi-test-")) : null;
  const { secretsKeyFile = directory && join(directory, "secrets.key") } = options;
  const build = () => buildTestApp({ ...options, secretsKeyFile }, { place, clock, ids, log });
  const apps = [await build()];
  const [app] = apps as [App];
  await app.admin.createDevKeys(KEY);
  if (isShared && options.isDoubled !== false) apps.push(await build());
  if (options.listens) for (const one of apps) await one.start();
  const url = options.listens ? app.server.url : "";
  let asked = 0;

  const ask = async (method: string, path: string, options: AskOptions = {}) => {
    const { key = KEY, body, headers = {}, signal } = options;
    const all = new Headers(headers);
    if (key !== null && !all.has("authorization")) all.set("authorization", `Bearer ${key}`);
    const isValue = typeof body === "object" && !(body instanceof Uint8Array);
    const init = {
      method,
      headers: all,
      body: isValue ? JSON.stringify(body) : (body as string | undefined),
      signal,
    };
    // By turns, as a balancer does.
    const { server } = apps[asked++ % apps.length]!;
    if (url) return fetch(`${server.url}${path}`, init);
    return server.answer(new Request(`http://localhost${path}`, init));
  };
  const post = (path: string, body: unknown, options: AskOptions = {}) =>
    ask("POST", path, { ...options, body });
  return {
    app,
    clock,
    lines,
    logged,
    url,
    ask,
    get: (path, options) => ask("GET", path, options),
    post,
    chat: (content, fields = {}, options = {}) =>
      post("/v1/chat/completions", { messages: [{ role: "user", content }], ...fields }, options),
    async stop() {
      for (const one of apps) await one.stop(0);
      await release();
      if (directory) rmSync(directory, { recursive: true });
    },
  };
}

/** Settings by their text and environment: reading them takes as long as joining the modules. */
const read = new Map<string, Settings>();

function readOnce(text: string, env: Record<string, string>): Settings {
  const key = JSON.stringify([text, env]);
  const settings = read.get(key) ?? readSettings(text, "wadi.toml", env, { "server.port": 0 });
  // A file that they name can have changed.
  if (!text.includes("_file")) read.set(key, settings);
  return settings;
}

interface Surroundings {
  place: DatabaseLocation;
  clock: ManualClock;
  ids: Ids;
  log: Log;
}

function buildTestApp(
  { settings = "", env = {}, ...options }: TestAppOptions,
  { place, clock, ids, log }: Surroundings,
): Promise<App> {
  return buildApp({
    settings: readOnce(settings, env),
    ...{ place, clock, ids, log },
    version: "0.0.0-test",
    installation: options.installation ?? NO_INSTALLATION,
    secretsKeyFile: options.secretsKeyFile ?? null,
    hasOpenMetrics: options.hasOpenMetrics,
    compute: inlineCompute,
    openBackend: options.openBackend?.(log),
    predecessor: options.predecessor,
    onFatal: (failure) => {
      throw failure;
    },
  });
}
