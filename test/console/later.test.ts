// Walks the second script of the console: when it is loaded, and what a person sees without it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { dirname, join } from "node:path";
import type { Page, Route } from "playwright-core";
import { laterTexts } from "../../src/console/client/texts/later.ts";
import { hasBrowser } from "../support/browser.ts";
import { type OpenedConsole, openConsole, soon } from "./support.ts";

const SCRIPT = "**/console/later.js";
const CLIENT = join(import.meta.dir, "../../src/console/client");

/** Sources of a module and of all that it imports, by their path. */
async function readModules(path: string, known = new Map<string, string>()) {
  if (known.has(path)) return known;
  const source = await Bun.file(path).text();
  known.set(path, source);
  const imports = new Bun.Transpiler({ loader: path.endsWith("x") ? "tsx" : "ts" }).scanImports(
    source,
  );
  for (const { path: other } of imports) {
    if (other.startsWith(".")) await readModules(join(dirname(path), other), known);
  }
  return known;
}

describe("the first script of the console", () => {
  test("has its texts, and no page of the second script", async () => {
    const modules = await readModules(join(CLIENT, "main.tsx"));
    expect([...modules.keys()].filter((path) => /console\/client\/models\//.test(path))).toEqual(
      [],
    );
    const quoted = [...modules.values()].flatMap(
      (source) => source.match(/"[a-z_]+\.[\w.]+"/g) ?? [],
    );
    expect(quoted.length).toBeGreaterThan(300);
    expect(quoted.filter((id) => id.slice(1, -1) in laterTexts)).toEqual([]);
  });
});

if (!hasBrowser) test.skip("the second script in a browser: there is no Chromium here", () => {});
else describe("the second script of the console", walkLater);

function walkLater() {
  let opened: OpenedConsole;
  let page: Page;
  /** Requests of the second script. */
  let asked = 0;

  const visit = (path: string) => page.goto(`${opened.server.url}/console/${path}`);
  const heading = (name: string) => page.getByRole("heading", { name, level: 1 });
  const answerWith = async (handler: (route: Route) => Promise<void>) => {
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.route(SCRIPT, handler);
  };

  beforeAll(async () => {
    opened = await openConsole();
    // Another tab: the first one has loaded all.
    page = await opened.page.context().newPage();
    page.on("request", (request) => {
      if (request.url().endsWith("/later.js")) asked += 1;
    });
  });
  afterAll(() => opened.close());

  test("is loaded once while the browser idles, and serves each of its pages", async () => {
    const request = page.waitForRequest(SCRIPT);
    await visit("");
    await request;
    for (const name of ["Agents", "Models", "Usage", "Accounts and keys"]) {
      await page.getByRole("navigation").getByRole("link", { name }).click();
      await heading(name).waitFor();
      await page.locator("main [aria-busy=true]").first().waitFor({ state: "detached" });
    }
    expect(asked).toBe(1);
  });

  test("is loaded at the first visit of one of its pages, which says that it loads", async () => {
    let go = () => {};
    const mayGo = new Promise<void>((resolve) => {
      go = resolve;
    });
    await answerWith(async (route) => {
      await mayGo;
      await route.continue();
    });
    await visit("models");
    await heading("Models").waitFor();
    const loading = page.locator("main [aria-busy=true]");
    expect(await loading.textContent()).toBe("Loading");
    // Pages of the first script work meanwhile.
    await page.getByRole("link", { name: "Runs" }).click();
    await heading("Runs").waitFor();
    await page.goBack();
    await heading("Models").waitFor();
    go();
    await page.getByRole("heading", { name: "Who may call what" }).waitFor();
  });

  test("is nothing for the page of a link to approvals", async () => {
    asked = 0;
    await visit("a");
    await heading("Decide").waitFor();
    await page.evaluate("new Promise(requestIdleCallback)");
    expect(asked).toBe(0);
  });

  test("is asked for again after a failure, which is shown", async () => {
    await answerWith((route) => route.abort());
    await visit("agents");
    const note = page.getByRole("alert");
    await note.waitFor();
    await soon(() => note.textContent()).toContain(
      "Agents could not be loaded.The server does not answer. Trying again in 4 s.",
    );
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await note.waitFor({ state: "detached" });
    await page.locator(".empty, table").first().waitFor();
  });

  test("of another version makes the page load again, and not for ever", async () => {
    let answers = 0;
    await answerWith(async (route) => {
      answers += 1;
      await route.fulfill({ contentType: "text/javascript", body: "document.title = 'other'" });
    });
    await visit("usage");
    const note = page.getByRole("alert");
    await note.waitFor();
    await soon(() => note.textContent()).toContain(
      "The server has another version than this page.",
    );
    // A script and a look at it, before and after.
    expect(answers).toBeGreaterThanOrEqual(4);
    expect(await page.title()).toBe("Usage · Wadi");
    // The policy names another digest, so that what stands there never ran.
    expect(await page.evaluate("sessionStorage.getItem('reloaded_at')")).not.toBeNull();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await note.waitFor({ state: "detached" });
    await heading("Usage").waitFor();
  });
}
