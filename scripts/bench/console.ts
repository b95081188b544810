// Processor time of a browser that shows pages of the console while rows change, and its first row.
import { Database as Connection } from "bun:sqlite";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { hasBrowser, openBrowser } from "../../test/support/browser.ts";
import { type Figure, type Report, spreadOf, writeSpread } from "./measure.ts";
import { fillRuns } from "./run-filler.ts";
import { launch, makeKey, makeScratch, readUntil, runWadi } from "./stage.ts";

const RUNS = "/console/runs";
const PATHS = ["/console/", "/console/requests", RUNS];
/** Runs that a list can show, all of them. */
const RUNS_STORED = 10_000;
const FIRST_ROW_MS_MAX = 100;
/** Pages opened in a round for the time of their first row. */
const PAGES_OPENED = 10;
const CHANGES_PER_S = 200;
/** Writes of a run that pages are told of: its start, its claim, its reply and its end. */
const CHANGES_OF_RUN = 4;
const MEASURE_MS = 10_000;
const SETTLE_MS = 3_000;
const CORES_MAX = 0.5;
/** Requests are sent in groups, since a timer of 5 ms is late on a busy machine. */
const GROUP_MS = 50;
/** What an operator may ask in a minute is no limit of this bench. */
const SETTINGS = `[limits]
requests_per_minute = 1000000
[[models]]
id = "stub-1"
self_hosted = true
capabilities = ["tools", "streaming"]
upstream = { kind = "stub" }
`;

/** Marks the first row of a list when it stands in the page. */
const WATCH_FIRST_ROW = `new MutationObserver((_, watcher) => {
  if (!document.querySelector("tbody tr[data-row]")) return;
  watcher.disconnect();
  performance.mark("first row");
}).observe(document, { childList: true, subtree: true })`;
/** Time from the arrival of the last rows to that mark. */
const FIRST_ROW_MS = `performance.getEntriesByName("first row")[0].startTime -
  Math.max(...performance.getEntriesByType("resource")
    .filter(({ name }) => /v1\\/runs\\?stage=/.test(name)).map(({ responseEnd }) => responseEnd))`;

type Act = () => Promise<void>;

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
  const key = await makeKey(program!, at, ["agents"]);
  storeRuns(join(scratch, "data", "wadi.db"));
  const server = launch([program!, "serve", "--port", "0", ...at]);
  const port = Number(await readUntil(server, /http:\/\/127\.0\.0\.1:(\d+)/));
  const url = `http://127.0.0.1:${port}`;
  const browser = await openBrowser();
  const context = await browser.newContext();
  const page = await context.newPage();
  const { hash } = new URL(await runWadi([program!, "console", ...at]));
  await page.goto(`${url}/console/${hash}`);
  await page.locator("main h1").waitFor();
  const agent = await makeAgent(url, key);
  const firstRows = await timeFirstRows(context, url, rounds);
  const all: Watched[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const path of PATHS) {
      process.stderr.write(`console: ${path}, ${CHANGES_PER_S} changes a second\n`);
      await page.goto(url + path);
      const ofRuns = { act: () => startRun(url, key, agent), changes: CHANGES_OF_RUN };
      const change = path === RUNS ? ofRuns : { act: () => chat(url, key), changes: 1 };
      all.push({ path, ...(await watch(browser, page, change)) });
    }
  }
  await browser.close();
  server.kill("SIGTERM");
  await server.exited;
  return report(all, firstRows);
};

/** The program has opened the file before, and has not now. */
const storeRuns = (file: string): void => {
  using connection = new Connection(file, { readonly: true });
  const { id } = connection.query("SELECT id FROM accounts").get() as { id: string };
  fillRuns({ file, account_id: id, runs: RUNS_STORED, steps_every: RUNS_STORED });
};

const timeFirstRows = async (context: BrowserContext, url: string, rounds: number) => {
  const times: number[] = [];
  const page = await context.newPage();
  await page.addInitScript(WATCH_FIRST_ROW);
  for (let n = 0; n < rounds * PAGES_OPENED; n++) {
    await page.goto(`${url}${RUNS}?range=all`);
    await page.locator("tbody tr[data-row]").first().waitFor();
    times.push((await page.evaluate(FIRST_ROW_MS)) as number);
  }
  await page.close();
  return times;
};

const post = async (url: string, key: string, body: object): Promise<string> => {
  const reply = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return reply.text();
};

const chat = async (url: string, key: string): Promise<void> => {
  const messages = [{ role: "user", content: "!say Yes." }];
  await post(`${url}/v1/chat/completions`, key, { messages });
};

const makeAgent = async (url: string, key: string): Promise<string> => {
  const fields = { name: "Clerk", system_prompt: "Be brief.", model: "stub-1" };
  return (JSON.parse(await post(`${url}/v1/agents`, key, fields)) as { id: string }).id;
};

const startRun = async (url: string, key: string, agent: string): Promise<void> => {
  await post(`${url}/v1/agents/${agent}/runs`, key, { input: { message: "!say Yes." } });
};

const watch = async (
  browser: Browser,
  page: Page,
  { act, changes: changesOfAct }: { act: Act; changes: number },
): Promise<Omit<Watched, "path">> => {
  await page.locator("main h1").waitFor();
  await page.waitForTimeout(SETTLE_MS);
  const idle_cores = await measureCores(browser, () => page.waitForTimeout(SETTLE_MS));
  let changes = 0;
  const send = async () => {
    const until = performance.now() + MEASURE_MS;
    for (let begun = performance.now(); begun < until; begun = performance.now()) {
      const wanted = (CHANGES_PER_S * GROUP_MS) / 1_000 / changesOfAct;
      const group = Array.from({ length: Math.round(wanted) }, act);
      changes += group.length * changesOfAct;
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

const report = (all: readonly Watched[], firstRows: readonly number[]): Report => {
  const results = PATHS.map((path) => {
    const own = all.filter((one) => one.path === path);
    const spread = (field: "cores" | "idle_cores" | "changes_per_s") =>
      spreadOf(own.map((one) => one[field]));
    const [cores, idle, changes] = [spread("cores"), spread("idle_cores"), spread("changes_per_s")];
    return { path, cores, idle, changes };
  });
  const firstRow = spreadOf(firstRows);
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
    figures: [
      ...results.map(
        ({ path, cores }): Figure => ({
          what: `processor time of ${path}`,
          spread: cores,
          unit: "cores",
          goal: `< ${CORES_MAX}`,
          isMet: cores.median < CORES_MAX,
        }),
      ),
      {
        what: `first row of ${RUNS_STORED} runs after they have arrived`,
        spread: firstRow,
        unit: "ms",
        goal: `≤ ${FIRST_ROW_MS_MAX}`,
        isMet: firstRow.median <= FIRST_ROW_MS_MAX,
      },
    ],
    notes: [
      "A change is a request, which writes a row of the log and the use of its key.",
      "On the page of runs it is one of the four writes of a run.",
    ],
    data: { all, firstRows },
  };
};
