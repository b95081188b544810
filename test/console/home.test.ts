// Walks the home page of the console in a real browser.
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
default_model = "stub-1"
[[models]]
id = "stub-1"
self_hosted = true
capabilities = ["tools", "streaming"]
upstream = { kind = "stub" }
[[models]]
id = "away"
self_hosted = true
upstream = { kind = "openai", urls = ["http://127.0.0.1:9/v1"], health_every = "1s" }
[[models]]
id = "asleep"
self_hosted = true
upstream = { kind = "stub", start_delay = "9s" }
`;

if (!hasBrowser) test.skip("the home page in a browser: there is no Chromium here", () => {});
else describe("the home page", walkHome);

function walkHome() {
  let opened: OpenedConsole;
  const need = (text: string | RegExp) =>
    opened.page.getByRole("listitem").filter({ hasText: text });
  const start = async (agent: string, message: string) => {
    const body = { input: { message } };
    return askAsOwner(opened.server, "POST", `/v1/agents/${agent}/runs`, body);
  };

  beforeAll(async () => {
    opened = await openConsole(["127.0.0.1:9"], async ({ directory }) => {
      await Bun.write(join(directory, "wadi.toml"), MODELS);
    });
    const { server } = opened;
    const tool = { name: "pay", risk: "irreversible", endpoint: "http://127.0.0.1:9/pay" };
    const parameters = { type: "object", properties: {} };
    await askAsOwner(server, "POST", "/v1/tools", { ...tool, parameters, description: "Pays." });
    const agent = { name: HOSTILE, system_prompt: "Be brief.", tools: ["pay"] };
    const { id } = await askAsOwner(server, "POST", "/v1/agents", agent);
    await start(id!, `Pay ${HOSTILE}\n!tool pay {}`);
    await start(id!, "Break\n!error context_length_exceeded");
    await opened.room.perform(["accounts", "create", "acme"]);
    const made = ["keys", "create", "--account", "acme", "--json"];
    const { secret } = JSON.parse((await opened.room.perform(made)).stdout);
    await opened.room.perform(["accounts", "limit", "acme", "--requests-day", "5"]);
    for (let n = 0; n < 4; n++) await server.chat("Hello", { key: secret });
  });
  afterAll(() => opened.close());

  test("says what needs a person, and each line leads there", async () => {
    const { page, faults } = opened;
    await need("1 approval is waiting.").waitFor();
    await need("1 run failed in 24 hours. With context_length_exceeded, at").waitFor();
    await need("away is down.").waitFor();
    await need("Account acme has used 80 % of its budget of today. 4 of 5 requests").waitFor();
    await soon(() => page.locator(".need li").count()).toBe(4);
    const titles = await page.locator(".need li").allTextContents();
    expect(titles[0]).toContain("1 approval is waiting.");
    // The server of a sleeping model starts with its next request.
    expect(titles.join()).not.toContain("asleep");
    await need("1 approval is waiting.").getByText("The oldest asked").click();
    await page.getByRole("heading", { name: "Approvals", level: 1 }).waitFor();
    // A call without arguments is told apart by what its run was asked.
    const row = page.locator(".item");
    await soon(() => row.textContent()).toContain(`Pay ${SHOWN_HOSTILE}`);
    await soon(() => row.locator("time").textContent()).toMatch(/^\d+ h left$/);
    await page.goBack();
    await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
    const href = await page.getByRole("link", { name: "Show runs" }).getAttribute("href");
    expect(href).toBe("/console/runs?status=failed");
    expect(faults).toEqual([]);
  });

  test("shows the last day as bars, and what runs, as text", async () => {
    const { page } = opened;
    for (const name of ["Requests by hour", "Tokens by hour", "Cost by hour"]) {
      await page.getByRole("img", { name }).waitFor();
    }
    await page.locator(".fig", { hasText: /[1-9]\d* 1 failed/ }).waitFor();
    await soon(() => page.getByRole("img", { name: "Requests by hour" }).locator("g").count()).toBe(
      24,
    );
    const row = page.getByRole("row", { name: /Waiting/ });
    await soon(() => row.textContent()).toContain(SHOWN_HOSTILE);
    expect(await page.locator("main img").count()).toBe(0);
    await soon(() => page.title()).toBe("Home · Wadi");
  });

  test("has no serious fault of access, and scrolls in one direction, at every size", async () => {
    await judgePage(opened.page);
    expect(opened.faults).toEqual([]);
  });

  test("keeps the first steps until they are hidden", async () => {
    const { page } = opened;
    await page.getByText("4 of 7").waitFor();
    await page.getByText("wadi backup wadi.backup").waitFor();
    await page.getByRole("button", { name: "Hide" }).click();
    await page.reload();
    await page.getByText("Needs a person").waitFor();
    expect(await page.getByText("First steps").count()).toBe(0);
    expect(opened.faults).toEqual([]);
  });
}
