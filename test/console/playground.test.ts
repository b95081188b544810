// Walks the playground: a chat as a key, its stream and figures, a stop, a refusal, the request.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { hasBrowser } from "../support/browser.ts";
import {
  HOSTILE,
  judgePage,
  type OpenedConsole,
  openConsole,
  SHOWN_HOSTILE,
  soon,
} from "./support.ts";

interface Row {
  key: string;
  status: number;
  sent_by_operator: string | null;
}

if (!hasBrowser) test.skip("the playground in a browser: there is no Chromium here", () => {});
else describe("the playground", walkPlayground);

function walkPlayground() {
  let opened: OpenedConsole;
  let page: Page;
  let faults: string[];

  const perform = async (...args: string[]) => (await opened.room.perform(args)).stdout;
  const readRows = async (): Promise<Row[]> =>
    JSON.parse(await perform("requests", "list", "--json")).rows;
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const messages = () => page.getByRole("region", { name: "Conversation" }).getByRole("listitem");

  beforeAll(async () => {
    opened = await openConsole();
    ({ page, faults } = opened);
    await perform("accounts", "create", "finance");
    await perform("keys", "create", "--account", "finance", "--name", "ERP hook");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.keyboard.press("g");
    await page.keyboard.press("p");
    await page.getByRole("heading", { name: "Playground", level: 1 }).waitFor();
  });
  afterAll(() => opened?.close());

  test("chats as the chosen key, and shows text of the model as text", async () => {
    await page.getByText("the request log says that you sent it").waitFor();
    await page.getByLabel("Account").selectOption("finance");
    await page
      .getByLabel("Key")
      .getByText(/^ERP hook · …\w{4}$/)
      .waitFor({ state: "attached" });
    await page.getByLabel("System prompt").fill("Be brief.");
    await page.getByLabel("Message").fill(`!say ${HOSTILE}`);
    await page.keyboard.press("Enter");
    await messages().last().getByText(SHOWN_HOSTILE).waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    await messages()
      .last()
      .getByText(/^first token \d+ ms$/)
      .waitFor();
    await messages()
      .last()
      .getByText(/^\d+ tokens in, \d+ out$/)
      .waitFor();
    const sent_by_operator = expect.any(String);
    // The row is written after the reply.
    await soon(readRows).toEqual([
      expect.objectContaining({ key: "ERP hook", status: 201, sent_by_operator }),
    ]);
    expect(faults).toEqual([]);
  });

  test("shows the exact request, and copies it as a command without the key", async () => {
    await page.getByLabel("Temperature").fill("0.5");
    await page.getByLabel("Message").fill("It's late");
    const shown = page.getByRole("complementary", { name: "Parameters" });
    await shown.getByText('"temperature": 0.5').waitFor();
    await button("Copy as curl").click();
    await page.getByText("Copied.").waitFor();
    const copied = String(await page.evaluate("navigator.clipboard.readText()"));
    expect(copied).toContain(`${opened.server.url}/v1/chat/completions`);
    expect(copied).toContain("Bearer $WADI_API_KEY");
    expect(copied).toContain("It'\\''s late");
    expect(faults).toEqual([]);
  });

  test("stops a request, which ends it at the server", async () => {
    await page.getByLabel("Message").fill("!tokens 5\n!stall");
    await button("Send").click();
    await messages().last().locator(".said").waitFor();
    const count = await messages().count();
    await page.getByLabel("Message").fill("Meanwhile");
    await page.keyboard.press("Enter");
    expect(await messages().count()).toBe(count);
    await button("Stop").click();
    await messages().last().getByText("Stopped").waitFor();
    await messages()
      .last()
      .getByText(/^took /)
      .waitFor();
    const states = async () => (await readRows()).map(({ status }) => status);
    await soon(states).toEqual([499, 201]);
    await page.getByLabel("Message").fill("!tokens 5\n!stall");
    await button("Send").click();
    await button("Stop").waitFor();
    await messages().last().locator(".said").waitFor();
    // Nobody reads the answer of a page that was left.
    await page.getByRole("link", { name: "Home" }).click();
    await soon(states).toEqual([499, 499, 201]);
    await page.goBack();
    await page.getByRole("heading", { name: "Playground", level: 1 }).waitFor();
    expect(faults).toEqual([]);
  });

  test("shows refusals as the gateway words them", async () => {
    await page.getByLabel("think Answer").check();
    await page.getByLabel("Message").fill("Hello");
    await button("Send").click();
    const alert = messages().last().getByRole("alert");
    await alert.getByText("needs the scope think").waitFor();
    // A refusal is a reply with 403, which a browser reports.
    expect(faults.splice(0)).toEqual([expect.stringContaining("403")]);
  });

  test("has no serious fault of access, and scrolls in one direction, at every size", async () => {
    await judgePage(page);
    expect(faults).toEqual([]);
  });

  test("leads to the documentation of a code, which is in the same dress", async () => {
    await page.getByRole("link", { name: "scope_required" }).click();
    await page.getByRole("heading", { name: "Errors", level: 1 }).waitFor();
    await soon(() => page.url()).toBe(`${opened.server.url}/docs/errors#scope_required`);
    await judgePage(page);
    await page.getByRole("link", { name: "API", exact: true }).click();
    await page.getByRole("heading", { name: "Wadi", level: 1 }).waitFor();
    await page.goBack();
    await page.goBack();
    await page.getByRole("heading", { name: "Playground", level: 1 }).waitFor();
    expect(faults).toEqual([]);
  });

  test("keeps the key in the address, and begins again", async () => {
    await soon(() => page.url()).toContain("?key=");
    await page
      .getByLabel("Key")
      .getByText(/^ERP hook/)
      .waitFor({ state: "attached" });
    await page.getByLabel("Message").fill("Hello");
    await page.keyboard.press("Enter");
    await messages().last().getByText("You said: Hello").waitFor();
    await button("New conversation").click();
    await soon(() => messages().count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test("marks its rows as such in Requests, and says so where a row is explained", async () => {
    await page.getByRole("link", { name: "Requests" }).click();
    const row = page.getByRole("row", { name: /Playground \(/ }).first();
    await row.waitFor();
    await row.click();
    const chain = page.getByRole("listitem").filter({ hasText: /^Key/ });
    await soon(() => chain.first().textContent()).toContain("Playground (");
    expect(faults).toEqual([]);
  });
}
