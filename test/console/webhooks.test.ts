// Walks the console's pages of webhook endpoints over real deliveries.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { hasBrowser } from "../support/browser.ts";
import { openWebhookReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";
import {
  askAsOwner,
  HOSTILE,
  judgePage,
  type OpenedConsole,
  openConsole,
  SHOWN_HOSTILE,
  soon,
} from "./support.ts";

if (!hasBrowser) test.skip("webhooks in a browser: there is no Chromium here", () => {});
else describe("the pages of webhooks", walkWebhooks);

/** More than two pages. */
const TESTS = 450;

interface DeliveryPage {
  data: { id: string; status: string; attempt_count: number }[];
}

function walkWebhooks() {
  let receiver: WebhookReceiver;
  let opened: OpenedConsole;
  let failing: string;
  let isRepaired = false;

  const make = (path: string, description: string | null) =>
    askAsOwner(opened.server, "POST", "/v1/webhooks", {
      ...{ url: `http://${receiver.host}/${path}`, events: ["run.completed"], description },
    });
  const listDeliveries = async (id: string) =>
    (await askAsOwner<DeliveryPage>(opened.server, "GET", `/v1/webhooks/${id}/deliveries`)).data;

  beforeAll(async () => {
    receiver = openWebhookReceiver(({ path }) => {
      if (path.startsWith("/good") || isRepaired) return new Response(null, { status: 204 });
      return new Response(HOSTILE + "x".repeat(10_000), { status: 500 });
    });
    opened = await openConsole([receiver.host]);
    const { server } = opened;
    await make("good", "The order desk");
    failing = (await make("bad", HOSTILE)).id!;
    const agent = { name: "Clerk", system_prompt: "Be brief." };
    const { id } = await askAsOwner(server, "POST", "/v1/agents", agent);
    await askAsOwner(server, "POST", `/v1/agents/${id}/runs`, { input: { message: "!say Yes." } });
    await receiver.came(2);
  });
  afterAll(async () => {
    await opened?.close();
    await receiver[Symbol.asyncDispose]();
  });

  test("lists endpoints, what fails first, and counts it in the sidebar", async () => {
    const { page } = opened;
    await page.getByRole("link", { name: "Webhooks" }).click();
    await page.getByText("2 endpoints, 1 failing, 0 disabled").waitFor();
    const rows = page.getByRole("row");
    await rows.nth(1).getByText("Failing").waitFor();
    await soon(() => rows.nth(1).textContent()).toContain(SHOWN_HOSTILE);
    await soon(() => rows.nth(1).textContent()).toContain("500");
    await soon(() => rows.nth(2).textContent()).toContain("The order desk");
    await page.reload();
    await page.getByRole("link", { name: "Webhooks 1" }).waitFor();
    await soon(() => page.locator("footer code").textContent()).toBe("wadi webhooks list");
    await judgePage(page);
    expect(opened.faults).toEqual([]);
  });

  test("keeps its filters in the address, and clears them", async () => {
    const { page } = opened;
    await page.getByRole("button", { name: /^Disabled/ }).click();
    await page.getByText("Nothing matches. 2 without filters.").waitFor();
    await soon(() => page.url()).toEndWith("?show=off");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByText("The order desk").waitFor();
    await soon(() => page.url()).toEndWith("/console/webhooks");
  });

  test("opens one by keyboard, and shows each attempt as sent and answered, without secrets", async () => {
    const { page } = opened;
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByText("Attempt 1").waitFor();
    await soon(() => page.url()).toContain(failing);
    const detail = page.getByRole("region", { name: "Delivery", exact: true });
    await detail.getByText("webhook-timestamp").first().waitFor();
    const text = (await detail.textContent())!;
    expect(text).toContain(SHOWN_HOSTILE);
    expect(text).toContain("1 signature, not kept");
    expect(text).toContain('"type": "run.completed"');
    expect(text).not.toMatch(/v1,|whsec_/);
    // The newest attempt is open; a retry may have followed the first meanwhile.
    const oldest = detail.locator(".attempt").last();
    const isOpen = (await oldest.getAttribute("open")) !== null;
    if (!isOpen) await detail.getByText("Attempt 1").click();
    await detail.getByText("Signed text, without the secret").last().click();
    const { headers } = receiver.arrivals.find(({ path }) => path === "/bad")!;
    const base = `${headers.get("webhook-id")}.${headers.get("webhook-timestamp")}.{"id":`;
    await soon(() => detail.textContent()).toContain(base);
    expect(await page.locator("main img").count()).toBe(0);
    await judgePage(page);
    expect(opened.faults).toEqual([]);
  });

  test("replays one, and sends a test", async () => {
    const { page } = opened;
    const before = (await listDeliveries(failing))[0]!;
    const detail = page.getByRole("region", { name: "Delivery", exact: true });
    await detail.getByRole("button", { name: "Replay" }).click();
    await page.getByText("It is due again, with the same webhook-id.").waitFor();
    await page
      .getByText(/^Attempt [2-9]/)
      .first()
      .waitFor();
    expect((await listDeliveries(failing))[0]!.id).toBe(before.id);
    await page.getByRole("button", { name: "Send test" }).click();
    await page.getByText("The test is on its way.").waitFor();
    await detail.getByRole("heading", { name: "webhook.test" }).waitFor();
    await detail.getByText("Failed", { exact: true }).waitFor();
    await soon(() => page.url()).toContain("delivery=");
    await page.goBack();
    expect(opened.faults).toEqual([]);
  });

  test("enables a disabled one, and recovers after it has shown the number", async () => {
    const { page, server } = opened;
    await askAsOwner(server, "PATCH", `/v1/webhooks/${failing}`, { status: "disabled" });
    isRepaired = true;
    await page.goto(`${server.url}/console/webhooks/${failing}`);
    await page.getByRole("button", { name: "Enable" }).click();
    await page.getByText("Enabled. It gets events from now on.").waitFor();
    await page.getByRole("button", { name: "Recover" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 delivery failed or was cancelled since then").waitFor();
    await dialog.getByLabel("Since").fill("2099-01-01T00:00");
    await dialog.getByText("No failed or cancelled delivery").waitFor();
    await soon(() => dialog.getByRole("button", { name: "Recover" }).isDisabled()).toBeTrue();
    await dialog.getByLabel("Since").fill("2020-01-01T00:00");
    await dialog.getByRole("button", { name: "Recover" }).click();
    await page.getByText("1 delivery is due again.").waitFor();
    await page.getByRole("button", { name: /^Delivered/ }).click();
    await page.getByRole("row", { name: /run.completed/ }).waitFor();
    await soon(() => page.url()).toContain("status=delivered");
    expect(opened.faults).toEqual([]);
  });

  test("reads older deliveries where the list is scrolled to its end", async () => {
    const { page, server } = opened;
    const { id } = await make("good", "Many");
    const send = () => askAsOwner(server, "POST", `/v1/webhooks/${id}/test`);
    const oldest = await send();
    for (let sent = 1; sent < TESTS; sent++) await send();
    await page.goto(`${server.url}/console/webhooks/${id}`);
    const table = page.getByRole("table");
    await soon(() => table.getAttribute("aria-rowcount")).toBe("201");
    const list = page.getByRole("region", { name: "Deliveries" });
    await soon(async () => {
      await list.evaluate((part) => part.scrollTo(0, part.scrollHeight));
      return page.locator(`[data-row="${oldest.id}"]`).count();
    }).toBe(1);
    await soon(() => table.getAttribute("aria-rowcount")).toBe(String(TESTS + 1));
    expect(await page.locator("tr[data-row]").count()).toBeLessThan(TESTS);
    // The reader has scrolled: what comes now waits.
    await send();
    await page.getByRole("button", { name: "1 new row" }).click();
    await soon(() => table.getAttribute("aria-rowcount")).toBe(String(TESTS + 2));
    await page.keyboard.press("j");
    await list.getByRole("row", { selected: true }).first().waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("says that an id is unknown", async () => {
    const { page, server } = opened;
    await page.goto(`${server.url}/console/webhooks/0198f000-0000-7000-8000-000000000001`);
    await page.getByText("There is no endpoint 00000001.").waitFor();
    await page.getByRole("link", { name: "All webhooks" }).click();
    await page.getByText("The order desk").waitFor();
  });

  test("makes one by a dialog with its command, and shows the secret once", async () => {
    const { page, server } = opened;
    const known = opened.faults.length;
    await page.goto(`${server.url}/console/webhooks`);
    await page.getByRole("button", { name: "Create webhook" }).click();
    const dialog = page.getByRole("dialog");
    const create = dialog.getByRole("button", { name: "Create webhook" });
    await soon(() => create.isDisabled()).toBeTrue();
    await dialog.getByRole("textbox", { name: "URL" }).fill("https://127.0.0.1/in");
    await dialog.getByRole("checkbox", { name: "run.failed" }).check();
    await dialog.getByRole("checkbox", { name: "limit.reached" }).check();
    const command =
      "wadi webhooks create --account default --url https://127.0.0.1/in " +
      "--events run.failed,limit.reached";
    await soon(() => dialog.locator("pre").textContent()).toBe(`$ ${command}`);
    await create.click();
    await dialog.getByText("not by an IP address").waitFor();
    await judgePage(page);
    await dialog.getByRole("textbox", { name: "URL" }).fill(`http://${receiver.host}/good/new`);
    await create.click();
    const secret = page.getByRole("status", { name: "Secret" });
    await soon(() => secret.textContent()).toMatch(/^whsec_/);
    await page.getByRole("heading", { name: /good\/new$/, level: 2 }).waitFor();
    await judgePage(page);
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByRole("button", { name: "Done" }).click();
    await soon(() => secret.count()).toBe(0);
    const faults = opened.faults.slice(known).filter((fault) => !fault.includes("400"));
    expect(faults).toEqual([]);
  });
}
