// Tries the parts for long tables in a real browser: 10,000 rows.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { closePages, hasBrowser, openBrowser, watchPage } from "../support/browser.ts";

const CLIENT = join(import.meta.dir, "../../src/console/client");
const ROWS = 10_000;

/** A page of one table, whose rows a test adds. */
const ENTRY = `
  import { h, render } from "preact";
  import { signal } from "@preact/signals";
  import { useRows } from "./rows.ts";
  import { WindowRows } from "./window.tsx";

  const make = (number) => ({ id: "r-" + number, text: "Row " + number });
  const count = Number(new URLSearchParams(location.search).get("rows"));
  const rows = signal(Array.from({ length: count }, (_, i) => make(count - i)));
  function List() {
    const chosen = useRows(rows.value, { onOpen() {} });
    const draw = ({ id, text }) =>
      h("tr", { "data-row": id, key: id, "aria-selected": chosen.value === id },
        h("td", null, text), h("td", { class: "n" }, id));
    return h("table", { class: "t" },
      h("thead", null, h("tr", null, h("th", null, "Text"), h("th", null, "Id"))),
      h(WindowRows, { rows: rows.value, columns: 2 }, draw));
  }
  render(h("main", { class: "main" }, h(List)), document.getElementById("app"));
`;

if (!hasBrowser) test.skip("tables in a browser: there is no Chromium here", () => {});
else describe("a table", tryTables);

function tryTables() {
  let site: Bun.Server<undefined>;
  let browser: Browser;
  let page: Page;
  let faults: string[];

  const open = (rows: number) => page.goto(`${site.url}?rows=${rows}`);
  const row = (number: number) => page.getByRole("cell", { name: `Row ${number}`, exact: true });
  const run = (script: string) => page.evaluate(script);
  const scrollTo = (top: number) => run(`document.scrollingElement.scrollTop = ${top}`);

  beforeAll(async () => {
    const entry = join(CLIENT, "entry-of-a-test.ts");
    const built = await Bun.build({ entrypoints: [entry], files: { [entry]: ENTRY } });
    const script = await built.outputs[0]!.text();
    const style = await Bun.file(join(CLIENT, "console.css")).text();
    const html = `<!doctype html><html lang="en"><style>${style}</style><body><div id="app"></div>
      <script type="module">${script.replaceAll("</script", "<\\/script")}</script>`;
    const headers = { "content-type": "text/html" };
    site = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response(html, { headers }),
    });
    browser = await openBrowser();
    page = await browser.newPage();
    faults = watchPage(page);
  });
  afterAll(async () => {
    await closePages(browser);
    await site.stop(true);
  });

  test("of 10,000 rows begins with the first, and holds those near the screen only", async () => {
    await open(ROWS);
    await row(ROWS).waitFor();
    expect(await page.locator("tbody tr[data-row]").count()).toBeLessThan(120);
    const table = page.getByRole("table");
    expect(await table.getAttribute("aria-rowcount")).toBe(String(ROWS + 1));
  });

  test("has the whole height, and shows the last row at its end", async () => {
    const height = Number(await run("document.scrollingElement.scrollHeight"));
    const first = page.locator("tr[data-row]").first();
    const rowPx = (await first.boundingBox())!.height;
    expect(height).toBeGreaterThanOrEqual(ROWS * rowPx);
    expect(height).toBeLessThan(ROWS * rowPx + 200);
    await scrollTo(height);
    await row(1).waitFor();
    const last = page.locator("tr[data-row]").last();
    expect(await last.getAttribute("aria-rowindex")).toBe(String(ROWS + 1));
    await scrollTo(height / 2);
    await row(ROWS / 2).waitFor();
  });

  test("shows a row that keys choose, wherever it is", async () => {
    await scrollTo(0);
    await row(ROWS).waitFor();
    await page.keyboard.press("j");
    await page.locator('tr[data-row="r-10000"][aria-selected="true"]').waitFor();
    await scrollTo(200_000);
    await row(ROWS).waitFor({ state: "detached" });
    await page.keyboard.press("j");
    await page.locator('tr[data-row="r-9999"][aria-selected="true"]').waitFor();
    await page.waitForFunction("document.scrollingElement.scrollTop < 1000");
  });

  test("has rows of two lines on a phone, and the same window", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await open(ROWS);
    await row(ROWS).waitFor();
    expect(await run("document.documentElement.scrollWidth")).toBe(390);
    await scrollTo(100_000);
    await page.waitForFunction(
      "document.elementFromPoint(190, 400).closest('tr')?.dataset.row !== undefined",
    );
    expect(faults).toEqual([]);
  });
}
