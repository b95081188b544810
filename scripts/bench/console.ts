// Processor time of a browser that shows pages of the console while rows change.
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { hasBrowser, openBrowser } from "../../test/support/browser.ts";
import { type Figure, type Report, spreadOf, writeSpread } from "./measure.ts";
import { launch, makeKey, makeScratch, readUntil, runWadi } from "./stage.ts";

const PATHS = ["/console/", "/console/requests"];
const CHANGES_PER_S = 200;
const MEASURE_MS = 10_000;
const SETTLE_MS = 3_000;
const CORES_MAX = 0.5;
/** Requests are sent in groups, since a timer of 5 ms is late on a busy machine. */
const GROUP_MS = 50;
/** What an operator may ask in a minute is no limit of this bench. */
const SETTINGS = `[limits]
requests_per_minute = 1000000
`;

interface Watched {
  path: string;
  cores: number;
  idle_cores: number;
  changes_per_s: number;
}

export const benchConsole = async (
  rounds: number,
  [program]: readonly string[],
): Promise<Report> => {
  if (!hasBrowser) throw new Error("there is no Chromium here");
  const scratch = makeScratch();
  const config = join(scratch, "wadi.toml");
  await Bun.write(config, SETTINGS);
  const at = ["--config", config, "--data", join(scratch, "data")];
  const key = await makeKey(program!, at);
  const server = launch([program!, "serve", "--port", "0", ...at]);
  const port = Number(await readUntil(server, /http:\/\/127\.0\.0\.1:(\d+)/));
  const url = `http://127.0.0.1:${port}`;
  const browser = await openBrowser();
  const context = await browser.newContext();
  const page = await context.newPage();
  const { hash } = new URL(await runWadi([program!, "console", ...at]));
  await page.goto(`${url}/console/${hash}`);
  await page.locator("main h1").waitFor();
  const all: Watched[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const path of PATHS) {
      process.stderr.write(`console: ${path}, ${CHANGES_PER_S} changes a second\n`);
      await page.goto(url + path);
      all.push({ path, ...(await watch(browser, page, () => chat(url, key))) });
    }
  }
  await browser.close();
  server.kill("SIGTERM");
  await server.exited;
  return report(all);
};

const chat = async (url: string, key: string): Promise<void> => {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content: "!say Yes." }] }),
  });
  await reply.text();
};

const watch = async (
  browser: Browser,
  page: Page,
  change: () => Promise<void>,
): Promise<Omit<Watched, "path">> => {
  await page.locator("main h1").waitFor();
  await page.waitForTimeout(SETTLE_MS);
  const idle_cores = await measureCores(browser, () => page.waitForTimeout(SETTLE_MS));
  let changes = 0;
  const send = async () => {
    const until = performance.now() + MEASURE_MS;
    for (let begun = performance.now(); begun < until; begun = performance.now()) {
      const group = Array.from({ length: (CHANGES_PER_S * GROUP_MS) / 1_000 }, change);
      changes += group.length;
      await Promise.all([...group, Bun.sleep(GROUP_MS)]);
    }
  };
  const cores = await measureCores(browser, send);
  return { cores, idle_cores, changes_per_s: changes / (MEASURE_MS / 1_000) };
};

/** Cores that all processes of the browser use together. */
const measureCores = async (browser: Browser, work: () => Promise<void>): Promise<number> => {
  const session = await browser.newBrowserCDPSession();
  const readCpuS = async () => {
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0);
  };
  const [cpuS, begun] = [await readCpuS(), performance.now()];
  await work();
  const cores = ((await readCpuS()) - cpuS) / ((performance.now() - begun) / 1_000);
  await session.detach();
  return cores;
};

const report = (all: readonly Watched[]): Report => {
  const results = PATHS.map((path) => {
    const own = all.filter((one) => one.path === path);
    const spread = (field: "cores" | "idle_cores" | "changes_per_s") =>
      spreadOf(own.map((one) => one[field]));
    const [cores, idle, changes] = [spread("cores"), spread("idle_cores"), spread("changes_per_s")];
    return { path, cores, idle, changes };
  });
  return {
    tables: [
      {
        title: "a browser with one page of the console",
        columns: ["", "changes/s", "cores", "cores without changes"],
        rows: results.map(({ path, cores, idle, changes }) => [
          path,
          ...[changes, cores, idle].map(writeSpread),
        ]),
      },
    ],
    figures: results.map(
      ({ path, cores }): Figure => ({
        what: `processor time of ${path}`,
        spread: cores,
        unit: "cores",
        goal: `< ${CORES_MAX}`,
        isMet: cores.median < CORES_MAX,
      }),
    ),
    notes: ["A change is a request, which writes a row of the log and the use of its key."],
    data: all,
  };
};
