// Walks from the start of `wadi dev` to a decided approval by what terminal and console show.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import { closePages, hasBrowser, openBrowser, watchPage } from "../support/browser.ts";
import { soon } from "./support.ts";

if (!hasBrowser) test.skip("the first approval: there is no Chromium here", () => {});
else describe("the first approval", walkToApproval);

function walkToApproval() {
  let room: Room;
  let server: Server;
  let browser: Browser;
  let page: Page;
  let faults: string[];
  let link: string;

  beforeAll(async () => {
    room = openRoom();
    server = await room.serve(["dev", "--port", "0"]);
    link = /^Open the console: (\S+)$/.exec(server.banner.at(-1)!)![1]!;
    browser = await openBrowser();
    page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    faults = watchPage(page);
  });
  afterAll(async () => {
    await closePages(browser);
    await room.close();
  });

  test("a page without a session names a command that makes a link", async () => {
    await page.goto(`${server.url}/console/`);
    await page.getByText(`wadi console --server ${server.url}`).waitFor();
    // A link that lost its end is no silence.
    await page.goto(`${server.url}/console/#wadi_link_x`);
    await page.getByText("or a part of it is missing").waitFor();
    expect(faults.splice(0).filter((fault) => !fault.includes("401"))).toEqual([]);
  });

  test("the link that the start printed signs in, and does no harm when opened again", async () => {
    await page.goto(link);
    await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
    await page.goto("about:blank");
    await page.goto(link);
    await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
    expect(page.url()).toBe(`${server.url}/console/`);
    expect(faults.splice(0)).toEqual([expect.stringContaining("401")]);
  });

  test("the first steps name commands that run as they stand", async () => {
    const step = page.getByRole("listitem").filter({ hasText: "Make an agent" });
    await step.getByText(`--server ${server.url}`).waitFor();
    expect(await page.getByText("backup wadi.backup").count()).toBe(0);
    // The key of the command is read apart.
    await step.locator("code").filter({ hasNotText: "KEY_ID" }).waitFor();
    const command = (await step.locator("code").textContent())!;
    const made = await room.run(["-c", command], { command: ["sh"] });
    expect(made.stderr).toBe("");
    expect(made.stdout).toContain("slug: noter\n");
    await page.getByText("2 of 6").waitFor();
  });

  test("a button makes an agent that asks, and opens what it asks", async () => {
    await page.getByRole("button", { name: "Try an approval" }).click();
    await page.getByRole("heading", { name: "Keep a note", level: 2 }).waitFor();
    await page.getByRole("button", { name: "Ask a teammate" }).click();
    await page.getByLabel("Teammate’s name").fill("Noor");
    await page.getByRole("button", { name: "Create link" }).click();
    // The link is never shown again, so that Enter copies it.
    await soon(() => page.locator(":focus").textContent()).toBe("Copy");
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByText(/^Noor was asked, link until /).waitFor();
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByText("Noor, by link of dev").waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "Approve" }).click();
    const toast = page.getByText("Approved. The run goes on.");
    await toast.waitFor();
    const line = ["approvals", "list", "--json", "--server", server.url];
    const list = async () => (await room.perform(line)).stdout;
    expect(JSON.parse(await list())).toMatchObject([{ status: "approved", account: "dev" }]);
    const log = ["audit", "list", "--operation", "agents create", "--json", "--server", server.url];
    const entries = JSON.parse((await room.perform(log)).stdout);
    expect(entries[0]).toMatchObject({ actor: "dev", via: "console" });
    await page.getByRole("link", { name: "Home" }).click();
    await toast.waitFor({ state: "detached" });
    await soon(() => page.getByText("4 of 6").count()).toBe(1);
    expect(faults).toEqual([]);
  });
}
