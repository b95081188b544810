// Walks the usage page of the console in a real browser.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { hasBrowser } from "../support/browser.ts";
import {
  askAsOwner,
  HOSTILE,
  judgePage,
  type OpenedConsole,
  openConsole,
  SHOWN_HOSTILE,
  soon,
} from "./support.ts";

const MODELS = `
[service]
default_model = "priced"
[[models]]
id = "priced"
self_hosted = true
capabilities = ["tools", "streaming"]
price = { prompt = "1000", completion = "3000" }
upstream = { kind = "stub" }
[[models]]
id = "free"
self_hosted = true
upstream = { kind = "stub" }
`;
/** A spreadsheet would calculate it. */
const FORMULA = "=1+1";

if (!hasBrowser) test.skip("usage in a browser: there is no Chromium here", () => {});
else describe("the usage page", walkUsage);

function walkUsage() {
  let opened: OpenedConsole;
  const row = (text: string) => opened.page.locator("table tr").filter({ hasText: text });
  const bars = () => opened.page.locator("svg.stacks [role=button]");

  beforeAll(async () => {
    opened = await openConsole([], async ({ directory }) => {
      await Bun.write(join(directory, "wadi.toml"), MODELS);
    });
    const { page, room, server } = opened;
    const made = ["keys", "create", "--account", "default", "--name", FORMULA, "--json"];
    const { secret } = JSON.parse((await room.perform(made)).stdout);
    await server.chat("Hello", { key: secret });
    await server.chat("Hello", { key: secret, body: { model: "free", messages: [HELLO] } });
    const agent = { name: HOSTILE, system_prompt: "Be brief.", model: "priced" };
    const { id } = await askAsOwner(server, "POST", "/v1/agents", agent);
    await askAsOwner(server, "POST", `/v1/agents/${id}/runs`, { input: { message: "Hello" } });
    await page.keyboard.press("g");
    await page.keyboard.press("u");
    await page.getByRole("heading", { name: "Usage", level: 1 }).waitFor();
    await row("default").getByText("3", { exact: true }).waitFor();
  });
  afterAll(() => opened.close());

  test("sums this month, and says what is not in the sum", async () => {
    const { page, faults } = opened;
    await page.getByText(/^SAR in \d+ days?\. Today \d+\.\d\d so far\. 1 request/).waitFor();
    const chart = page.getByRole("group", { name: "Cost by time, stacked by account." });
    await chart.waitFor();
    await soon(() => chart.locator(".cap").count()).toBe(1);
    await soon(() => row("default").textContent()).toContain("100.0 %1");
    await soon(() => page.title()).toBe("Usage · Wadi");
    await page.getByText(/wadi usage --by account --month \d{4}-\d\d --zone/).waitFor();
    expect(faults).toEqual([]);
  });

  test("fills the table with the day that has the focus", async () => {
    const { page } = opened;
    const today = (await page.evaluate("new Date().getDate()")) as number;
    await bars().first().focus();
    for (let n = 1; n < today; n++) await page.keyboard.press("ArrowRight");
    await row("default").getByText("3", { exact: true }).waitFor();
    const name = await bars()
      .nth(today - 1)
      .getAttribute("aria-label");
    expect(name).toMatch(/^\d+ \w+: \d/);
    await page.keyboard.press(today === 1 ? "ArrowRight" : "ArrowLeft");
    await row("default").getByText("3", { exact: true }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "CSV" }).focus();
    await page.getByText("The whole range").waitFor();
  });

  test("keeps its view in the address, and gives the table as CSV without formulas", async () => {
    const { page } = opened;
    await page.getByRole("button", { name: "Requests", exact: true }).click();
    await page.getByLabel("Stacked by", { exact: true }).selectOption("key");
    await row(FORMULA).waitFor();
    await soon(() => page.url()).toEndWith("/console/usage?measure=requests&by=key");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    const csv = await Bun.file((await download.path())!).text();
    const [head, first, ...rest] = csv.trimEnd().split("\r\n");
    expect(head).toBe("Key,Requests,Tokens,SAR,Without a price");
    expect(first).toMatch(new RegExp(`^'${RegExp.escape(FORMULA)},2,\\d+,0\\.\\d{6},1$`));
    expect(rest.at(-1)).toStartWith("All,3,");
    await page.getByLabel("Model", { exact: true }).selectOption("free");
    await row("first").waitFor({ state: "detached" });
    await soon(() => page.url()).toEndWith("&model=free");
    await page.goBack();
  });

  test("shows hours for two days, and the range before by a key", async () => {
    const { page } = opened;
    await page.goto(`${opened.server.url}/console/usage?range=2d&measure=tokens&by=model`);
    await row("priced").waitFor();
    await soon(() => bars().count()).toBe(48);
    await page.keyboard.press("[");
    await page.getByText("Nothing was used in this range.").waitFor();
    await soon(() => page.url()).toContain("&to=");
    await page.keyboard.press("]");
    await row("priced").waitFor();
    expect(page.url()).not.toContain("to=");
  });

  test("counts runs by agent, whose name is text", async () => {
    const { page, faults } = opened;
    await page.goto(`${opened.server.url}/console/usage?measure=runs&by=agent`);
    await row(SHOWN_HOSTILE).waitFor();
    await page.getByText("Deleted runs are not in it.").waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    await page.getByText(/wadi runs usage --by agent --month/).waitFor();
    await judgePage(page);
    await page.goto(`${opened.server.url}/console/usage`);
    await row("default").waitFor();
    await judgePage(page);
    expect(faults).toEqual([]);
  });
}

const HELLO = { role: "user", content: "Hello" };
