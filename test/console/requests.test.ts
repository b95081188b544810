// Walks the page of requests of the console in a real browser.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Server } from "../support/binary.ts";
import { hasBrowser } from "../support/browser.ts";
import {
  HOSTILE,
  judgePage,
  type OpenedConsole,
  openConsole,
  SHOWN_HOSTILE,
  soon,
} from "./support.ts";

/** A key's name may hold markup, but no hidden characters. */
const MARKUP = "<img src=x onerror=alert(1)>";

if (!hasBrowser) test.skip("requests in a browser: there is no Chromium here", () => {});
else describe("the page of requests", walkRequests);

function walkRequests() {
  let opened: OpenedConsole;
  const lines = () => opened.page.locator("tr[data-row]");
  const line = (text: string) => lines().filter({ hasText: text });
  const chain = () => opened.page.getByRole("list", { name: "What decided" });

  beforeAll(async () => {
    opened = await openConsole();
    const { server, page, room } = opened;
    const made = ["keys", "create", "--account", "default", "--name", MARKUP, "--json"];
    const { secret } = JSON.parse((await room.perform(made)).stdout);
    await server.ask("POST", "/v1/search", { key: secret, body: { query: "x" } });
    await server.chat("!tokens 300", { body: { max_tokens: 40, ...say("!tokens 300") } });
    await askFor(server, HOSTILE);
    await page.keyboard.press("g");
    await page.keyboard.press("q");
    await page.getByRole("heading", { name: "Requests", level: 1 }).waitFor();
    await line("→ stub-1").waitFor();
  });
  afterAll(() => opened.close());

  test("lists requests, newest first, and names what a caller sent as text", async () => {
    const { page, faults } = opened;
    await soon(() => lines().count()).toBe(3);
    await soon(() => line("scope_required").textContent()).toContain(MARKUP);
    await soon(() => line("→ stub-1").textContent()).toContain(SHOWN_HOSTILE);
    await soon(() => line("length").textContent()).toContain("first · default");
    expect(await page.locator("main img").count()).toBe(0);
    await soon(() => page.title()).toBe("Requests · Wadi");
    expect(faults).toEqual([]);
  });

  test("explains a row by keyboard: what decided, the time, and what to do", async () => {
    const { page } = opened;
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press(" ");
    await chain().waitFor();
    await soon(() => chain().getByRole("listitem").allTextContents()).toEqual(
      expect.arrayContaining([
        expect.stringContaining("Keyfirst"),
        expect.stringContaining("Output budget40as asked"),
        expect.stringContaining("End, changed or waitedlengthcut at the budget"),
      ]),
    );
    await page.getByRole("img", { name: /^gateway \d+(\.\d)? ms/ }).waitFor();
    await page.getByText("The reply was cut: the request asked for 40 output tokens").waitFor();
    await soon(() => page.url()).toContain("/console/requests/0");
    const key = await page.getByRole("link", { name: "Open key" }).getAttribute("href");
    expect(key).toStartWith("/console/keys?key=");
  });

  test("copies the request as curl, without its key", async () => {
    const { page } = opened;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy as curl" }).click();
    await page.getByText("Copied.").waitFor();
    const copied = await page.evaluate("navigator.clipboard.readText()");
    expect(copied).toContain('"max_tokens":40');
    expect(copied).toContain("Bearer $WADI_API_KEY");
    expect(copied).not.toContain(opened.server.key);
  });

  test("holds new rows while one is open, and shows them when asked", async () => {
    const { page, server } = opened;
    await server.chat("One more");
    await page.getByRole("button", { name: "1 new row" }).waitFor();
    await soon(() => lines().count()).toBe(3);
    await page.keyboard.press("Escape");
    await lines().nth(3).waitFor();
    await soon(() => chain().count()).toBe(0);
    expect(opened.faults).toEqual([]);
  });

  test("says of a refusal where it happened, and what was not reached", async () => {
    const { page } = opened;
    await line("scope_required").getByText("403").click();
    await page.getByText("Give the key the scope, or use another key.").waitFor();
    const readSteps = () => chain().getByRole("listitem").allTextContents();
    await soon(async () => (await readSteps())[1]).toContain("Scope, refused here");
    const steps = await readSteps();
    expect(steps[0]).toContain(MARKUP);
    for (const step of steps.slice(2)) expect(step).toContain("not reached");
    await judgePage(page);
    expect(opened.faults).toEqual([]);
  });

  test("keeps filters in the address, and clears them", async () => {
    const { page } = opened;
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "4xx 1" }).click();
    await soon(() => page.url()).toEndWith("/console/requests?status=4xx");
    await lines().nth(1).waitFor({ state: "detached" });
    await line("scope_required").waitFor();
    await page.getByText("wadi requests follow --status 4xx").waitFor();
    await page.getByLabel("Slower than").selectOption("60000");
    await page.getByText("No requests match.").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await lines().nth(3).waitFor();
    await soon(() => page.url()).toEndWith("/console/requests");
  });

  test("finds requests by their id, and says of an unknown one that there is none", async () => {
    const { page, faults } = opened;
    const id = await lines().nth(3).getAttribute("data-row");
    await page.keyboard.press("/");
    await page.keyboard.type(id!.slice(-8));
    await page.getByText("Only the requests of one id are shown.").waitFor();
    await chain().waitFor();
    await soon(() => lines().count()).toBe(1);
    expect(faults).toEqual([]);
    await page.goto(`${opened.server.url}/console/requests/ffffffffffff`);
    await page.getByText("There is no request ffffffff.").waitFor();
    await page.getByRole("link", { name: "All requests" }).click();
    await lines().nth(3).waitFor();
    // A browser reports each answer that is no success.
    for (const fault of faults.splice(0)) expect(fault).toContain("404");
  });
}

const say = (content: string) => ({ messages: [{ role: "user", content }] });

const askFor = (server: Server, model: string) =>
  server.ask("POST", "/v1/chat/completions", { body: { model, ...say("Hello") } });
