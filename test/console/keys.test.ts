// Walks the page of accounts and keys: a key is made, copied, rotated and revoked; limits; sessions.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { Room, Server } from "../support/binary.ts";
import { hasBrowser } from "../support/browser.ts";
import {
  HOSTILE,
  judgePage,
  type OpenedConsole,
  openConsole,
  SHOWN_HOSTILE,
  soon,
} from "./support.ts";

/** Names have no hidden characters. */
const HOSTILE_NAME = HOSTILE.replaceAll(/\p{C}/gu, "");

if (!hasBrowser) test.skip("accounts and keys in a browser: there is no Chromium here", () => {});
else describe("accounts and keys", walkKeys);

function walkKeys() {
  let opened: OpenedConsole;
  let page: Page;
  let room: Room;
  let server: Server;
  let faults: string[];
  let secret: string;

  const list = async (): Promise<{ id: string; name: string; ends_in: string }[]> =>
    JSON.parse((await room.perform(["keys", "list", "--json"])).stdout);
  const find = async (name: string) => (await list()).find((key) => key.name === name)!;
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const dialog = () => page.getByRole("dialog");

  beforeAll(async () => {
    opened = await openConsole();
    ({ page, room, server, faults } = opened);
    await room.perform(["accounts", "create", "finance"]);
    await room.perform(["operators", "create", "noura"]);
    for (const name of ["تطبيق الجوال", HOSTILE_NAME, "Old widget"]) {
      await room.perform(["keys", "create", "--account", "finance", "--name", name]);
    }
    await room.perform(["accounts", "hold", "finance", "--reason", HOSTILE]);
    await room.perform(["keys", "revoke", (await find("Old widget")).id]);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  });
  afterAll(() => opened?.close());

  test("stands in the sidebar, and shows accounts with their keys", async () => {
    await page.keyboard.press("g");
    await page.keyboard.press("k");
    await page.getByRole("heading", { name: "Accounts and keys", level: 1 }).waitFor();
    const finance = page.getByRole("region", { name: "finance" });
    await finance.getByRole("heading", { name: "finance", level: 2 }).waitFor();
    await finance.getByRole("row").nth(3).waitFor();
    await soon(() => finance.getByRole("row").count()).toBe(4);
    const { ends_in } = await find("تطبيق الجوال");
    await soon(() => finance.getByRole("row", { name: "تطبيق الجوال" }).textContent()).toContain(
      ends_in,
    );
    await soon(() => finance.getByRole("row", { name: "Old widget" }).textContent()).toContain(
      "revoked",
    );
    await finance.getByText(SHOWN_HOSTILE).waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test("releases an account, and holds it after it has said what that stops", async () => {
    const finance = page.getByRole("region", { name: "finance" });
    await finance.getByRole("button", { name: "Release finance" }).click();
    await page.getByText("Released. The runs that waited start.").waitFor();
    await finance.getByText(SHOWN_HOSTILE).waitFor({ state: "detached" });
    await finance.getByRole("button", { name: "Hold finance" }).click();
    await dialog().getByText("No run of its agents starts until Release").waitFor();
    await dialog().getByLabel("Reason").fill("Audit");
    await dialog().getByText("wadi accounts hold finance --reason Audit").waitFor();
    await dialog().getByRole("button", { name: "Hold", exact: true }).click();
    // The dialog stands in the region too, and its command names the reason.
    await dialog().waitFor({ state: "detached" });
    await finance.getByText("No run of its agents starts.").waitFor();
    await finance.getByText("Audit").waitFor();
    const [account] = JSON.parse(
      (await room.perform(["accounts", "list", "--json"])).stdout,
    ).filter(({ name }: { name: string }) => name === "finance");
    expect(account).toMatchObject({ hold_reason: "Audit" });
    expect(faults).toEqual([]);
  });

  test("creates a key by the letter N, and shows its secret once", async () => {
    await page.keyboard.press("n");
    await page.getByRole("textbox", { name: "Name" }).fill("ERP hook");
    await page.getByLabel("Account").selectOption("finance");
    const scopes = page.getByRole("group", { name: "Scopes" });
    await scopes.getByRole("checkbox", { name: /^agents Make/ }).check();
    await page.getByRole("group", { name: "Models" }).getByRole("checkbox").first().check();
    await page.getByRole("textbox", { name: "Output cap" }).fill("402");
    const command = "wadi keys create --account finance --name 'ERP hook' --scope agents";
    await dialog().getByText(command).waitFor();
    await dialog().getByRole("button", { name: "Create key" }).click();
    await page.getByText("The secret of “ERP hook” is ready.").waitFor();
    await page.getByText("Copy it now. Wadi doesn’t store it and can’t show it again.").waitFor();
    secret = (await page.getByLabel("Secret", { exact: true }).textContent())!;
    expect(await find("ERP hook")).toMatchObject({
      ...{ account: "finance", scopes: ["agents"], max_output_tokens: 402 },
      ends_in: secret.slice(-4),
    });
    expect((await server.ask("GET", "/v1/models", { key: secret })).status).toBe(200);
    expect(faults).toEqual([]);
  });

  test("asks before a secret is lost that was not copied", async () => {
    const leave = 'dispatchEvent(new Event("beforeunload", { cancelable: true }))';
    expect(await page.evaluate(leave)).toBe(false);
    await page.getByRole("link", { name: "Home" }).click();
    await dialog().getByText("Leave without the secret of “ERP hook”?").waitFor();
    await button("Go back").click();
    await page.getByLabel("Secret", { exact: true }).waitFor();
    await button("Done").click();
    await dialog().getByText("Leave without the secret").waitFor();
    await button("Go back").click();
    await button("Copy").click();
    await button("Copied").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(secret);
    expect(await page.evaluate(leave)).toBe(true);
    await button("Done").click();
    await page.getByLabel("Secret", { exact: true }).waitFor({ state: "detached" });
    expect(faults).toEqual([]);
  });

  test("opens a key, and changes it and its limits", async () => {
    await button("ERP hook").click();
    const { id } = await find("ERP hook");
    await page.getByText(id).waitFor();
    await soon(() => page.url()).toContain(`key=${id}`);
    await button("Change key").click();
    await page.getByRole("textbox", { name: "Name" }).fill("ERP hook two");
    await page.getByRole("textbox", { name: "Output cap" }).fill("");
    await dialog().getByRole("button", { name: "Change" }).click();
    await page.getByText("The key “ERP hook” is changed.").waitFor();
    expect(await find("ERP hook two")).toMatchObject({ max_output_tokens: null });
    await button("Change limits").click();
    await page.getByLabel("Requests a minute").fill("5");
    await dialog().getByText("--requests-minute 5").waitFor();
    await dialog().getByRole("button", { name: "Change" }).click();
    await page.getByRole("meter", { name: "Last minute, requests" }).waitFor();
    // It closes by the reply, which may come after the change; Escape would end it instead.
    await dialog().waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.getByText(id).waitFor({ state: "detached" });
    expect(faults).toEqual([]);
  });

  test("sets and removes the budget of an account", async () => {
    await button("Change limits of finance").click();
    await page.getByLabel("SAR a month").fill("400");
    await page.getByLabel("Tokens a day").fill("4000000");
    await dialog().getByRole("button", { name: "Change" }).click();
    const month = new Intl.DateTimeFormat("en-GB", { month: "long" }).format(new Date());
    const finance = page.getByRole("region", { name: "finance" });
    await finance.getByText(`${month}, SAR 0.00 of 400.00`).waitFor();
    await finance.getByText("Today, tokens 0 of 4M").waitFor();
    await button("Change limits of finance").click();
    await page.getByLabel("SAR a month").fill("");
    await dialog().getByText("--cost-month none").waitFor();
    await dialog().getByRole("button", { name: "Change" }).click();
    await finance.getByText("of 400.00").waitFor({ state: "detached" });
    expect(faults).toEqual([]);
  });

  test("rotates a secret, and says until when both work", async () => {
    await button("Rotate ERP hook two").click();
    await dialog()
      .getByText(/^Both work until .* UTC\.$/)
      .waitFor();
    await dialog().getByRole("button", { name: "Rotate" }).click();
    await page.getByText(/has a new secret\. The old one works until/).waitFor();
    const rotated = (await page.getByLabel("Secret", { exact: true }).textContent())!;
    for (const key of [secret, rotated]) {
      expect((await server.ask("GET", "/v1/models", { key })).status).toBe(200);
    }
    await button("Copy").click();
    await button("Copied").waitFor();
    // A copied secret is gone with its page.
    await page.getByRole("link", { name: "Home" }).click();
    await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
    await page.goBack();
    await button("Rotate ERP hook two").waitFor();
    expect(await page.getByLabel("Secret", { exact: true }).count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test("says what a revocation ends, and revokes", async () => {
    const reply = await server.ask("POST", "/v1/chat/completions", {
      key: secret,
      body: { messages: [{ role: "user", content: "!tokens 5\n!stall" }], stream: true },
    });
    await button("Revoke ERP hook two").click();
    await dialog()
      .getByText(/and 1 open stream ends within 5 seconds\./)
      .waitFor();
    await dialog().getByRole("button", { name: "Revoke" }).click();
    await page.getByText("The key “ERP hook two” is revoked.").waitFor();
    const row = page.getByRole("row", { name: "ERP hook two" });
    await row.getByText(/^revoked \d+ \w+$/).waitFor();
    expect((await server.ask("GET", "/v1/models", { key: secret })).status).toBe(401);
    await reply.body?.cancel();
    expect(faults).toEqual([]);
  });

  test("finds keys by a part of their name, and says when none match", async () => {
    await page.keyboard.press("/");
    await page.keyboard.type("widget");
    await page.getByRole("row", { name: HOSTILE_NAME }).waitFor({ state: "detached" });
    await soon(() => page.url()).toContain("search=widget");
    await page.getByLabel("Search").fill("nothing has this");
    await page.getByText(/^No keys match\. \d+ without filters\.$/).waitFor();
    await button("Clear filters").click();
    await page.getByRole("row", { name: HOSTILE_NAME }).waitFor();
    await page.goto(`${server.url}/console/keys?key=0198f000-0000-4000-8000-000000000001`);
    await page.getByText("There is no key 00000001.").waitFor();
    await page.getByRole("link", { name: "Show all keys" }).click();
    expect(faults).toEqual([]);
  });

  test("creates an account", async () => {
    await button("Create account").click();
    await page.getByRole("textbox", { name: "Name" }).fill("support");
    await dialog().getByRole("button", { name: "Create account" }).click();
    await page.getByRole("region", { name: "support" }).getByText("No keys.").waitFor();
    await dialog().waitFor({ state: "detached" });
    await button("Create account").click();
    await page.getByRole("textbox", { name: "Name" }).fill("support");
    await dialog().getByRole("button", { name: "Create account" }).click();
    await dialog().getByText("exists already").waitFor();
    await button("Cancel").click();
    // A refusal is a reply with 409, which a browser reports.
    expect(faults.splice(0)).toEqual([expect.stringContaining("409")]);
  });

  test("has no serious fault of access, and scrolls in one direction, at every size", async () => {
    await button(HOSTILE_NAME).click();
    await page.getByText("Under way").waitFor();
    await judgePage(page);
    expect(faults).toEqual([]);
  });

  test("shows the sessions of operators, and ends one", async () => {
    const other = await opened.browser.newContext();
    const { hash } = new URL((await room.perform(["console", "--as", "noura"])).stdout.trim());
    const visitor = await other.newPage();
    await visitor.goto(`${server.url}/console/${hash}`);
    await page.getByRole("link", { name: "Sessions" }).click();
    const row = page.getByRole("row", { name: /noura/ });
    await row.getByText("127.0.0.1").waitFor();
    await page.getByText("this one").waitFor();
    await judgePage(page);
    await row.getByRole("button", { name: /^End noura, / }).click();
    await dialog().getByRole("button", { name: "End" }).click();
    await row.waitFor({ state: "detached" });
    await visitor.getByText("Your session has ended.").waitFor();
    await other.close();
    expect(faults).toEqual([]);
  });
}
