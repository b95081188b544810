// Walks the keys that all pages have: the list of keys, the switch of letters, search or jump.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
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

if (!hasBrowser) test.skip("keys in a browser: there is no Chromium here", () => {});
else describe("on every page", walkKeys);

function walkKeys() {
  let opened: OpenedConsole;
  let page: Page;
  let agent: string;

  beforeAll(async () => {
    opened = await openConsole();
    page = opened.page;
    const body = { name: HOSTILE, system_prompt: "Be brief." };
    const made = await askAsOwner(opened.server, "POST", "/v1/agents", body);
    agent = made.id!;
  });
  afterAll(() => opened.close());

  const dialog = () => page.getByRole("dialog");

  test("? lists the keys, of which letters can be switched off and on", async () => {
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await soon(() => dialog().textContent()).toContain("Pause and resume live rows");
    await judgePage(page);
    await page.getByLabel("Single letters are keys").click();
    // Letters do nothing in a dialog.
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
    expect(new URL(page.url()).pathname).toBe("/console/");
    for (const key of [".", "g", "a", "?"]) await page.keyboard.press(key);
    await soon(() => page.getByRole("button", { name: "Pause updates" }).count()).toBe(1);
    await page.reload();
    await page.keyboard.press("?");
    await page.getByRole("button", { name: "List of keys" }).click();
    await page.getByLabel("Single letters are keys").click();
    await dialog().getByRole("button", { name: "Close" }).click();
    await dialog().waitFor({ state: "detached" });
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.getByRole("heading", { name: "Approvals", level: 1 }).waitFor();
  });

  test("Ctrl K jumps to a page by its name", async () => {
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Search or jump" }).waitFor();
    await page.keyboard.type("home");
    await page.getByRole("status").filter({ hasText: "1 result" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
    await dialog().waitFor({ state: "detached" });
  });

  test("and to an object by its name or the end of its id, which shows as text", async () => {
    await page.getByRole("button", { name: "Search or jump" }).click();
    await page.keyboard.type("png.exe");
    await page.getByText("There is nothing of that name or id.").waitFor();
    await page.getByLabel("Search or jump").last().fill("onerror");
    const link = dialog().getByRole("link");
    await link.first().waitFor();
    await soon(() => link.first().textContent()).toContain(SHOWN_HOSTILE);
    await soon(() => link.first().getAttribute("href")).toBe(`/console/agents/${agent}`);
    await judgePage(page);
    // Nothing in between, so that the next result is not that of the name.
    await page.getByLabel("Search or jump").last().fill("png.exe");
    await page.getByText("There is nothing of that name or id.").waitFor();
    await page.getByLabel("Search or jump").last().fill(agent.slice(-8));
    await link.first().waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/console/agents/${agent}`);
    expect(opened.faults).toEqual([]);
  });
}
