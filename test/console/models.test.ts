// Walks the page of models of the console in a real browser.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { hasBrowser } from "../support/browser.ts";
import { judgePage, type OpenedConsole, openConsole, soon } from "./support.ts";

const MODELS = `
[service]
default_model = "stub-1"
[[models]]
id = "stub-1"
self_hosted = true
price = { prompt = "1.20", completion = "3.60" }
upstream = { kind = "stub" }
[[models]]
id = "pair"
self_hosted = true
upstream = { kind = "openai", urls = ["http://127.0.0.1:9/v1"], max_in_flight = 4 }
[[models]]
id = "asleep"
self_hosted = true
visibility = "private"
upstream = { kind = "stub", start_delay = "1s" }
[[models]]
id = "rented"
upstream = { kind = "openai", urls = ["http://127.0.0.1:9/v1"] }
`;

if (!hasBrowser) test.skip("models in a browser: there is no Chromium here", () => {});
else describe("the page of models", walkModels);

function walkModels() {
  let opened: OpenedConsole;
  const row = (id: string) => opened.page.locator(`tr[data-row="${id}"]`);
  const press = (name: string) => opened.page.getByRole("button", { name, exact: true }).click();
  const confirm = (name: string) =>
    opened.page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
  const said = (text: string) =>
    opened.page.getByRole("status").filter({ hasText: text }).waitFor();

  beforeAll(async () => {
    opened = await openConsole([], async ({ directory }) => {
      await Bun.write(join(directory, "wadi.toml"), MODELS);
    });
    const { page, room, server } = opened;
    await room.perform(["accounts", "create", "acme"]);
    await room.perform(["accounts", "grant", "acme", "asleep"]);
    await server.chat("Hello", { body: { stream: true, messages: [HELLO] } });
    await page.keyboard.press("g");
    await page.keyboard.press("m");
    await page.getByRole("heading", { name: "Models", level: 1 }).waitFor();
    await row("pair").getByText("Down").waitFor();
  });
  afterAll(() => opened.close());

  test("shows each model with its state, price, callers and servers", async () => {
    const { page, faults } = opened;
    await row("stub-1").getByText("Every key").waitFor();
    await soon(() => row("stub-1").textContent()).toContain("1.20 · 3.60Every key");
    // Grants are read by themselves.
    await row("asleep").getByText("acme").waitFor();
    await soon(() => row("asleep").textContent()).toContain("no priceacme");
    await soon(() => row("rented").textContent()).toContain("external");
    await soon(() => row("rented").textContent()).toContain("Nobody yet");
    const server = page.getByRole("row", { name: /Down 127\.0\.0\.1:9 no requests/ }).first();
    await server.waitFor();
    await page.locator("td.p3", { hasText: "The next request starts it." }).waitFor();
    const services = page.getByRole("region", { name: "Embeddings and search" });
    const search = services.getByRole("row", { name: /^Off Search off/ });
    await search.getByText("Keys with the scope search").waitFor();
    await services.getByRole("row", { name: /^Off Embeddings bge-m3 off/ }).waitFor();
    await soon(() => page.title()).toBe("Models · Wadi");
    expect(faults).toEqual([]);
  });

  test("turns a model off after a question, says who did it, and turns it on", async () => {
    const { page, room } = opened;
    await press("Turn off stub-1");
    const dialog = page.getByRole("dialog", { name: "Turn off “stub-1”?" });
    await dialog.getByText("It is the default").waitFor();
    await confirm("Keep it");
    await soon(() => row("stub-1").textContent()).toContain("On");
    await press("Turn off stub-1");
    await confirm("Turn off");
    await said("stub-1 is off.");
    await row("stub-1")
      .getByText(/turned off by \S+, \d\d:\d\d/)
      .waitFor();
    const { stdout } = await room.perform(["models", "list", "--json"]);
    expect(JSON.parse(stdout)[0]).toMatchObject({ id: "stub-1", state: "off" });
    await press("Turn on stub-1");
    await said("stub-1 is on.");
  });

  test("opens a model by keyboard, and blocks and unblocks it there", async () => {
    const { page } = opened;
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await soon(() => page.url()).toEndWith("/console/models?model=pair");
    await press("Block pair");
    await confirm("Block");
    await said("pair is blocked.");
    await row("pair").getByText("Blocked", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Unblock pair", exact: true }).first().click();
    await said("pair is no longer blocked.");
    const link = page.getByRole("link", { name: "Show requests" });
    await soon(() => link.getAttribute("href")).toBe("/console/requests?model=pair");
    await page.keyboard.press("Escape");
    await link.waitFor({ state: "detached" });
  });

  test("starts and stops the server of a model", async () => {
    await press("Start asleep");
    await said("asleep is being started.");
    await row("asleep").getByText("On", { exact: true }).waitFor();
    await press("Stop asleep");
    await confirm("Stop");
    await said("asleep is being stopped.");
    await row("asleep")
      .getByText(/Stopped|Asleep/)
      .waitFor();
    await opened.page.locator("td.p3", { hasText: /Usually ready after \d/ }).waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("grants a model by a cell, and takes it back after a question", async () => {
    const { page } = opened;
    const cell = (may: string) =>
      page.getByRole("button", { name: `rented for acme: ${may}`, exact: true });
    await cell("not granted").click();
    await said("acme may call rented.");
    await cell("granted").waitFor();
    await row("rented").getByText("acme").waitFor();
    await cell("granted").click();
    await confirm("Take back");
    await said("acme may not call rented.");
    await cell("not granted").waitFor();
    await soon(() => page.getByRole("cell", { name: "public", exact: true }).count()).toBe(4);
    expect(opened.faults).toEqual([]);
  });

  test("has no serious fault of access, and scrolls in one direction, at every size", async () => {
    const { page } = opened;
    await press("More of stub-1");
    await judgePage(page);
    expect(opened.faults).toEqual([]);
  });
}

const HELLO = { role: "user", content: "Hello" };
