// Walks approvals in a real browser: what a person sees before deciding, and a teammate's link.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { hasBrowser, watchPage } from "../support/browser.ts";
import { NEW_IBAN, OLD_IBAN, openClerk, openTools, SUPPLIER } from "./invoices.ts";
import {
  askAsOwner,
  HOSTILE,
  judgePage,
  type OpenedConsole,
  openConsole,
  SHOWN_HOSTILE,
  soon,
} from "./support.ts";

const SETTINGS = `[[models]]
id = "stub-1"
self_hosted = true
upstream = { kind = "stub" }
capabilities = ["tools"]
price = { prompt = "1.20", completion = "3.60" }
`;

if (!hasBrowser) test.skip("approvals in a browser: there is no Chromium here", () => {});
else describe("approvals", walkApprovals);

function walkApprovals() {
  let tools: Bun.Server<undefined>;
  let opened: OpenedConsole;
  let page: Page;
  let clerk: Awaited<ReturnType<typeof openClerk>>;
  let payment: string;

  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await opened.room.perform(args);
    expect([args, code, code === 0 ? "" : stderr]).toEqual([args, 0, ""]);
    return stdout;
  };
  const show = async (id: string) => JSON.parse(await run("approvals", "show", id, "--json"));
  const open = async (id: string, title: string) => {
    await page.goto(`${opened.server.url}/console/approvals/${id}`);
    await page.getByRole("heading", { name: title, level: 2 }).waitFor();
  };
  const region = (name: string, at = page) => at.getByRole("region", { name });
  const row = (name: string, at = page) => at.getByRole("row", { name: new RegExp(`^${name} `) });
  const button = (name: string, at = page) => at.getByRole("button", { name, exact: true });
  /** Opens a link in a browser of its own; the caller closes its context. */
  const openLink = async (url: string, isFresh = true) => {
    const guest = await (await opened.browser.newContext()).newPage();
    await guest.setViewportSize({ width: 390, height: 844 });
    const faults = watchPage(guest);
    await guest.goto(url);
    if (isFresh) await guest.getByText("asks you to decide.").waitFor();
    return { guest, faults };
  };
  /** The command knows the port of the settings only. */
  const makeLink = async (...args: string[]) => {
    const { hash } = new URL((await run("approvals", "link", ...args)).trim());
    return `${opened.server.url}/console/a${hash}`;
  };

  beforeAll(async () => {
    tools = openTools();
    const host = `127.0.0.1:${tools.port}`;
    opened = await openConsole([host], async ({ directory }) => {
      await Bun.write(`${directory}/wadi.toml`, SETTINGS);
    });
    page = opened.page;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    clerk = await openClerk(opened.server, host);
    const first = await clerk.pay({ iban: OLD_IBAN, reference: "INV-2026-0990" }, false);
    await run("approvals", "approve", first);
    payment = await clerk.pay({ iban: NEW_IBAN });
  });
  afterAll(async () => {
    await opened?.close();
    await tools.stop(true);
  });

  test("shows what is unusual first, and where each value comes from", async () => {
    await open(payment, "Send a bank transfer");
    const first = soon(() => region("Look at this first").textContent());
    await first.toContain("iban is new, and it comes from outside.");
    await first.toContain("This one appears only in a web page that the run read.");
    const iban = row("iban");
    await soon(() => iban.locator("td b").textContent()).toBe(NEW_IBAN);
    await soon(() => iban.locator("del").textContent()).toContain(OLD_IBAN);
    await soon(() => iban.textContent()).toMatch(/only in a page from outside, step \d+$/);
    await soon(() => row("reference").textContent()).toContain("in the run’s input");
    await soon(() => row("beneficiary").textContent()).toMatch(
      new RegExp(`${SUPPLIER}same as \\d+ (s|min) ago$`),
    );
    await soon(() => row("currency").textContent()).toBe("currencySAR");
    await soon(() => row("note").textContent()).toMatch(/same as \d+ (s|min) ago$/);
  });

  test("shows content from outside as text, around the value, which is marked", async () => {
    const quote = page.locator("blockquote");
    await soon(() => quote.textContent()).toContain(SHOWN_HOSTILE);
    await soon(() => quote.locator("mark").textContent()).toBe(NEW_IBAN);
    expect(await page.locator("main img").count()).toBe(0);
    const step = page.getByRole("link", { name: /^Step \d+$/ });
    await soon(() => step.getAttribute("href")).toMatch(/^\/console\/runs\/[0-9a-f-]+\?step=\d+$/);
  });

  test("says who started the run, what it cost, who may decide, and what happens next", async () => {
    const facts = soon(() => page.getByRole("complementary", { name: "Facts" }).textContent());
    for (const part of ["Pay invoice INV-2026-1187 of 48250.00 SAR", "key first", "of 0.25 SAR"]) {
      await facts.toContain(part);
    }
    await facts.toContain("Not the key first, which started the run.");
    await page.getByText(/^At .* The agent is told so and goes on\.$/).waitFor();
    const cost = page.getByRole("meter", { name: "Cost of the run against its budget" });
    await soon(() => cost.getAttribute("aria-valuemax")).toBe("0.25");
    expect(opened.faults).toEqual([]);
  });

  test("shows as JSON exactly the text that is hashed, and copies it", async () => {
    const hidden = await clerk.change(HOSTILE);
    await open(hidden, "Change a supplier");
    await soon(() => region("Look at this first").textContent()).toContain(
      "value contains hidden characters.",
    );
    await soon(() => row("value").textContent()).toContain(SHOWN_HOSTILE);
    await page.getByRole("tab", { name: "JSON" }).click();
    const { approval } = await show(hidden);
    const shown = (await page.locator("pre").textContent())!;
    expect(Bun.SHA256.hash(shown, "hex")).toBe(approval.arguments_sha256);
    await page.getByText("Hidden characters, shown as tags: U+202E.").waitFor();
    await button("Copy Arguments").click();
    await page.getByText("Copied.").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(shown);
    await page.getByRole("tab", { name: "Table" }).click();
    await row("value").waitFor();
    await page.keyboard.press("c");
    const copied = page.waitForFunction(
      `navigator.clipboard.readText().then((t) => t === "${hidden}")`,
    );
    await copied;
    await run("approvals", "reject", hidden);
    expect(opened.faults).toEqual([]);
  });

  test("approves a write by A and A, and answers in place of a tool", async () => {
    const [write, question] = [await clerk.change("net 60"), await clerk.change("net 90")];
    await open(write, "Change a supplier");
    await page.keyboard.press("a");
    await page.getByText("Press A again to approve").waitFor();
    // Asked directly, since the second press has to come within three seconds.
    const asked = await askAsOwner(opened.server, "GET", `/v1/approvals/${write}`);
    expect(asked.status).toBe("pending");
    await page.keyboard.press("a");
    await page.getByText("Approved. The run goes on.").waitFor();
    await soon(() => page.getByRole("link", { name: "Open run" }).getAttribute("href")).toContain(
      "/console/runs/",
    );
    expect((await show(write)).approval.status).toBe("approved");
    await open(question, "Change a supplier");
    await button("Answer instead").click();
    await soon(() => button("Send").isDisabled()).toBeTrue();
    await page.getByLabel("Message").fill("It is net 30 by contract.");
    await button("Send").click();
    await page.getByText("Answered. The run goes on.").waitFor();
    expect((await show(question)).approval).toMatchObject({
      ...{ status: "rejected" },
      reason: "In place of the result, a person answers: It is net 30 by contract.",
    });
    expect(opened.faults).toEqual([]);
  });

  test("stays in place when another person decides while it is open", async () => {
    const id = await clerk.change("net 15");
    await open(id, "Change a supplier");
    await button("Reject").click();
    await page.getByLabel("Reason").fill("I am too late");
    await run("approvals", "approve", id);
    await page.getByText(/^This approval was decided by \S+ at .*: approved\.$/).waitFor();
    await soon(() => page.getByRole("button", { name: /Approve|Reject|Answer/ }).count()).toBe(0);
    await row("value").waitFor();
    expect(page.url()).toEndWith(id);
  });

  test("has no serious fault of access, in either theme and at every size", async () => {
    await open(payment, "Send a bank transfer");
    await judgePage(page);
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.evaluate("document.documentElement.dir = 'rtl'");
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      const root = "document.documentElement";
      const isWide = await page.evaluate(`${root}.scrollWidth > ${root}.clientWidth`);
      expect([width, isWide]).toEqual([width, false]);
    }
    expect(opened.faults).toEqual([]);
  });

  test("is decided by a teammate with a link of its button, at 390 pixels by keyboard", async () => {
    await open(payment, "Send a bank transfer");
    await button("Ask a teammate").click();
    await soon(() => button("Create link").isDisabled()).toBeTrue();
    await page.getByLabel("Name").fill("Layla");
    await page.keyboard.press("Enter");
    const url = (await page.getByLabel("Link", { exact: true }).textContent())!;
    await page.getByText("It opens on this machine only").waitFor();
    await button("Copy").click();
    await page.waitForFunction(`navigator.clipboard.readText().then((t) => t === "${url}")`);

    const { guest, faults } = await openLink(url);
    expect(guest.url()).toBe(`${opened.server.url}/console/a`);
    await guest.getByRole("heading", { name: "Send a bank transfer", level: 1 }).waitFor();
    await soon(() => row("iban", guest).textContent()).toContain(NEW_IBAN);
    expect(await guest.locator("main a, nav, aside button:has-text('Ask')").count()).toBe(0);
    await soon(() => guest.locator("footer").textContent()).toContain("You decide as Layla.");
    await judgePage(guest);
    await guest.setViewportSize({ width: 390, height: 844 });
    await soon(() => button("Approve", guest).isDisabled()).toBeTrue();
    await guest.keyboard.press("a");
    await guest.keyboard.type("send_payment");
    await guest.keyboard.press("Enter");
    await guest.getByText(/^You approved it at \d\d:\d\d\. The run goes on\.$/).waitFor();
    await soon(() => guest.getByRole("button").count()).toBe(0);
    expect((await show(payment)).approval).toMatchObject({
      ...{ status: "approved", decided_by: { kind: "operator", person: "Layla" } },
    });
    expect(faults).toEqual([]);
    // It says so again, and is of no use for anything else.
    await guest.reload();
    await guest.getByText(/^You approved it at/).waitFor();
    await guest.goto(`${opened.server.url}/console/approvals`);
    await guest.getByText("Make a link on the server").waitFor();
    await guest.context().close();

    const { guest: late } = await openLink(url, false);
    await late.getByText("This link was used before, or its time is over").waitFor();
    await late.context().close();
    await page.getByText(/decided by Layla \(link of \S+\) at .*: approved\.$/).waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("stays in place for a teammate, too, and ends with who made the link", async () => {
    const [one, two] = [await clerk.change("net 20"), await clerk.change("net 21")];
    const { guest } = await openLink(await makeLink(one, "--for", "Layla"));
    await row("value", guest).waitFor();
    await run("approvals", "reject", one, "--reason", "By telephone");
    await guest.getByText(/This approval was decided by \S+ at .*: rejected\./).waitFor();
    await row("value", guest).waitFor();
    await soon(() => guest.getByRole("button", { name: /Approve|Reject|Answer/ }).count()).toBe(0);
    await guest.context().close();

    await run("operators", "create", "sami");
    const { guest: other } = await openLink(await makeLink(two, "--for", "Layla", "--as", "sami"));
    await row("value", other).waitFor();
    await run("operators", "revoke", "sami");
    await other.keyboard.press("a");
    await other.keyboard.press("a");
    await other.getByText("Your link has ended, by its time or by who made it").waitFor();
    expect((await show(two)).approval.status).toBe("pending");
    await run("approvals", "reject", two);
    await other.context().close();
  });

  test("are left by a teammate who signs out, whose link then works no more", async () => {
    const id = await clerk.change("net 25");
    const { guest } = await openLink(await makeLink(id, "--for", "Layla"));
    await row("value", guest).waitFor();
    await soon(() => guest.locator(".live").textContent()).toContain("live");
    // Nobody is told of an end that the server does not know of.
    const body = { error: { code: "service_unavailable", message: "Try again." } };
    await guest.route("**/operator/link/session", (asked) =>
      asked.request().method() === "DELETE"
        ? asked.fulfill({ status: 503, json: body })
        : asked.continue(),
    );
    await button("Sign out", guest).click();
    await guest.getByText("Try again.").waitFor();
    await guest.unroute("**/operator/link/session");
    await button("Sign out", guest).click();
    await guest.getByText("You have signed out.").waitFor();
    expect((await guest.context().cookies()).length).toBe(0);
    await guest.reload();
    await guest.getByText("Open the link that you were sent.").waitFor();
    expect(await run("operators", "sessions", "--json")).not.toContain(id);
    await run("approvals", "reject", id);
    await guest.context().close();
  });

  test("are listed for a teammate with a link to those of an account", async () => {
    const [one, two] = [await clerk.change("net 10"), await clerk.change("net 11")];
    const url = await makeLink("--account", "default", "--for", "Finance desk");
    const { guest, faults } = await openLink(url);
    const items = guest.getByRole("link", { name: /Change a supplier/ });
    await items.nth(1).waitFor();
    await judgePage(guest);
    await guest.keyboard.press("j");
    await row("value", guest).getByText("net 10").waitFor();
    await guest.keyboard.press("x");
    await guest.getByLabel("Reason").fill("Not now");
    await button("Reject", guest).click();
    await guest.getByText("Rejected. The run goes on.").waitFor();
    expect((await show(one)).approval).toMatchObject({
      ...{ status: "rejected", reason: "Not now", decided_by: { person: "Finance desk" } },
    });
    // The decided one leaves the list after the reply.
    await items.nth(1).waitFor({ state: "detached" });
    await items.click();
    await row("value", guest).getByText("net 11").waitFor();
    await guest.keyboard.press("a");
    await guest.keyboard.press("a");
    await guest.getByText("No request waits for you.").waitFor();
    expect((await show(two)).approval.status).toBe("approved");
    await guest.goto(`${opened.server.url}/console/a?id=${payment}`);
    await guest.getByText(/This approval was decided by Layla/).waitFor();
    expect(faults).toEqual([]);
    await guest.context().close();
  });
}
