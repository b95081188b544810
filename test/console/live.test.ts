// Walks what is live in the console: one stream for all tabs, pause, reconnection, and the end.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { BrowserContext, Page, Request } from "playwright-core";
import { hasBrowser } from "../support/browser.ts";
import { findClosedPort } from "../support/ports.ts";
import { askAsOwner, type OpenedConsole, openConsole, soon } from "./support.ts";

const TABS = 8;

if (!hasBrowser) test.skip("the live console in a browser: there is no Chromium here", () => {});
else describe("the live console", walkLive);

function walkLive() {
  let opened: OpenedConsole;
  /** Tabs of one browser share a session. */
  let context: BrowserContext;
  let agent: string;
  let key: string;
  const tabs: Page[] = [];
  /** Streams that are open, with their tabs. */
  const streams = new Map<Request, Page>();
  /** Other requests under way, with their tabs. */
  const reads = new Map<Request, Page>();

  const watch = (tab: Page) => {
    const end = (request: Request) => {
      streams.delete(request);
      reads.delete(request);
    };
    tab.on("request", (request) => {
      const isStream = request.url().endsWith("/operator/v1/changes");
      (isStream ? streams : reads).set(request, tab);
    });
    tab.on("requestfinished", end);
    tab.on("requestfailed", end);
    // A request of a closed tab is not told of any more.
    tab.on("close", () => {
      for (const [request, owner] of streams) if (owner === tab) streams.delete(request);
    });
  };
  const until = async (isSo: () => boolean | Promise<boolean>) => {
    while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const openTab = async () => {
    const tab = await context.newPage();
    watch(tab);
    tabs.push(tab);
    await tab.goto(`${opened.server.url}/console/`);
    await tab.getByRole("heading", { name: "Home", level: 1 }).waitFor();
    return tab;
  };
  /** Starts a run that stays active, as its model never ends its reply. */
  const startRun = async (title: string) => {
    const { status } = await opened.server.ask("POST", `/v1/agents/${agent}/runs`, {
      // A second start tells no key.
      ...{ key, body: { input: { message: `${title}\n!stall` } } },
    });
    expect(status).toBe(202);
  };
  /** Headless tabs are all visible, until a test says otherwise. */
  const hide = (tab: Page, isHidden: boolean) =>
    tab.evaluate(`
      Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    `);
  const status = (tab: Page) => tab.locator(".live");

  beforeAll(async () => {
    opened = await openConsole([], undefined, findClosedPort());
    key = opened.server.key;
    const storageState = await opened.page.context().storageState();
    context = await opened.browser.newContext({ storageState });
    const body = { name: "Clerk", system_prompt: "Be brief." };
    ({ id: agent } = (await askAsOwner(opened.server, "POST", "/v1/agents", body)) as {
      id: string;
    });
    await opened.page.goto("about:blank");
  });
  afterAll(() => opened.close());

  test("eight tabs share one stream, and each shows a run that begins", async () => {
    for (let i = 0; i < TABS; i++) await openTab();
    await until(() => streams.size === 1);
    await startRun("Alpha");
    for (const tab of tabs) await tab.getByText("Alpha").waitFor();
    expect(streams.size).toBe(1);
    for (const tab of tabs) await soon(() => status(tab).textContent()).toContain("live");
  });

  test("another tab takes the stream when the leading one is closed or hidden", async () => {
    const first = [...streams.values()][0]!;
    await first.close();
    tabs.splice(tabs.indexOf(first), 1);
    await until(() => [...streams.values()].some((tab) => tab !== first));
    const second = [...streams.values()].at(-1)!;
    await hide(second, true);
    await until(() => [...streams.values()].every((tab) => tab !== second) && streams.size === 1);
    // A read that began before may be answered after the run has begun.
    await until(() => [...reads.values()].every((tab) => tab !== second));
    await startRun("Beta");
    const shown = tabs.find((tab) => tab !== second)!;
    await shown.getByText("Beta").waitFor();
    expect(await second.getByText("Beta").count()).toBe(0);
  });

  test("no stream is open while all tabs are hidden; a shown one catches up", async () => {
    for (const tab of tabs) await hide(tab, true);
    await until(() => streams.size === 0);
    await startRun("Gamma");
    for (const tab of tabs.splice(1)) await tab.close();
    await hide(tabs[0]!, false);
    await tabs[0]!.getByText("Gamma").waitFor();
    await until(() => streams.size === 1);
  });

  test("a paused page counts what it holds back, and shows it when it goes on", async () => {
    const tab = tabs[0]!;
    await tab.keyboard.press(".");
    await tab.getByRole("button", { name: "Resume" }).waitFor();
    await startRun("Delta");
    await tab.getByText(/^paused, \d+ new$/).waitFor();
    await soon(() => tab.locator(".live [role=status]").textContent()).toBe("paused");
    expect(await tab.getByText("Delta").count()).toBe(0);
    await tab.getByRole("button", { name: "Resume" }).click();
    await tab.getByText("Delta").waitFor();
    await tab.getByRole("button", { name: "Pause updates" }).waitFor();
  });

  test("a page without a server says so in place, and is live again with the next one", async () => {
    const tab = tabs[0]!;
    const { room, server } = opened;
    server.signal("SIGKILL");
    await server.exited;
    await tab.getByText(/^reconnecting, last update \d+ s ago$/).waitFor();
    await soon(() => tab.locator(".live [role=status]").textContent()).toBe("reconnecting");
    await soon(() => tab.getByRole("heading", { name: "Running now" }).count()).toBe(1);
    const { port } = new URL(server.url);
    // The models of these runs never end their replies.
    const env = { WADI_SERVER__STOP_TIMEOUT: "1s" };
    opened.server = await room.serve(["serve", "--port", port], { env });
    await tab.locator(".live:not(.stale)").waitFor();
    await startRun("Epsilon");
    await tab.getByText("Epsilon").waitFor();
  });

  /** Lists runs in a page that must not be loaded again. */
  const listRuns = async () => {
    const tab = tabs[0]!;
    await tab.goto(`${opened.server.url}/console/runs`);
    await tab.getByText("Epsilon").waitFor();
    await tab.evaluate("window.isKept = true");
    await until(() => streams.size === 1);
    return tab;
  };
  /** Expects a live page that shows these runs, and has not been loaded again. */
  const expectLive = async (tab: Page, ...titles: string[]) => {
    for (const title of titles) await tab.getByText(title).waitFor();
    await tab.locator(".live:not(.stale)").waitFor();
    await soon(() => tab.locator(".live [role=status]").textContent()).toBe("live");
    await until(() => streams.size === 1);
    expect(await tab.evaluate("window.isKept")).toBe(true);
  };

  test("a restart is shown as such, and what happened until the page is live again", async () => {
    const tab = await listRuns();
    const { room, server } = opened;
    const { port } = new URL(server.url);
    server.signal("SIGTERM");
    await server.exited;
    await tab.getByText(/^reconnecting, last update \d+ s ago$/).waitFor();
    await tab.getByText("Epsilon").waitFor();
    opened.server = await room.serve(["serve", "--port", port]);
    await startRun("Sigma");
    await expectLive(tab, "Sigma");
    await startRun("Omega");
    await expectLive(tab, "Sigma", "Omega");
  });

  test.if(process.platform === "linux")("nothing is missed in a takeover", async () => {
    const tab = await listRuns();
    const { room, server } = opened;
    const { port } = new URL(server.url);
    const before = startRun("Lambda");
    const taken = room.serve(["serve", "--port", port, "--takeover"]);
    await before;
    opened.server = await taken;
    await startRun("Iota");
    await startRun("Kappa");
    await expectLive(tab, "Lambda", "Iota", "Kappa");
  });

  test("a command in another process is shown, and the end of the session ends the page", async () => {
    const tab = tabs[0]!;
    const { room } = opened;
    const { stdout } = await room.perform(["operators", "sessions", "--json"]);
    for (const { id } of JSON.parse(stdout) as { id: string }[]) {
      await room.perform(["operators", "end", id]);
    }
    await tab.getByText("Your session has ended.").waitFor();
    await until(() => streams.size === 0);
  });
}
