// Walks the console's pages of agents: versions, their difference, policy, holds and starts.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
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

if (!hasBrowser) test.skip("agents in a browser: there is no Chromium here", () => {});
else describe("the pages of agents", walkAgents);

const FIRST = `Be brief.\n${HOSTILE}\nNever pay twice.`;
const SECOND = `Be brief.\n${HOSTILE}\nNever pay an invoice twice.`;

function walkAgents() {
  let opened: OpenedConsole;
  let clerk: string;

  const button = (name: string) => opened.page.getByRole("button", { name, exact: true });

  beforeAll(async () => {
    opened = await openConsole(["127.0.0.1:9"]);
    const { server } = opened;
    for (const [name, risk] of [
      ["change_supplier", "write"],
      ["send_payment", "irreversible"],
    ]) {
      const parameters = { type: "object", properties: {} };
      const endpoint = "http://127.0.0.1:9/tool";
      const tool = { name, title: HOSTILE, risk, endpoint, parameters, description: "Acts." };
      await askAsOwner(server, "POST", "/v1/tools", tool);
    }
    const agent = {
      ...{ name: HOSTILE, description: HOSTILE, system_prompt: FIRST },
      ...{ tools: ["calculator", "change_supplier", "send_payment"] },
    };
    clerk = (await askAsOwner(server, "POST", "/v1/agents", agent)).id!;
    const policy = { unattended_writes: true, require_approval: ["calculator"] };
    const version = { system_prompt: SECOND, policy, budgets: { max_rounds: 7 } };
    await askAsOwner(server, "POST", `/v1/agents/${clerk}/versions`, version);
    const output_schema = { type: "object", title: HOSTILE };
    const night = { name: "Night", system_prompt: "Report.", output_schema };
    await askAsOwner(server, "POST", "/v1/agents", night);
    for (const message of ["!say Yes.", "!say No."]) {
      await askAsOwner(server, "POST", `/v1/agents/${clerk}/runs`, { input: { message } });
    }
  });
  afterAll(() => opened?.close());

  test("lists agents with tools by risk, last runs and cost", async () => {
    const { page } = opened;
    await page.keyboard.press("g");
    await page.keyboard.press("n");
    await page.getByText("2 agents", { exact: true }).waitFor();
    await page.getByRole("img", { name: "Last runs: 2 succeeded" }).waitFor();
    const row = page.getByRole("row").filter({ hasText: "v2" });
    await soon(() => row.textContent()).toContain(SHOWN_HOSTILE);
    await soon(() => row.textContent()).toMatch(/1 Read.*1 Write.*1 Irreversible/);
    await judgePage(page);
    expect(opened.faults).toEqual([]);
  });

  test("searches by name, keeps it in the address, and does nothing by keys meanwhile", async () => {
    const { page } = opened;
    await page.keyboard.press("/");
    await page.keyboard.type("jk nothing");
    await page.getByText("Nothing matches. 2 without filters.").waitFor();
    await soon(() => page.url()).toContain("q=jk");
    await page.getByLabel("Search", { exact: true }).fill("nigh");
    await page.getByRole("row").filter({ hasText: "Night" }).waitFor();
    await soon(() => page.getByRole("row").count()).toBe(2);
    await page.goto(`${opened.server.url}/console/agents`);
  });

  test("shows a version, and what its policy does with each tool", async () => {
    const { page } = opened;
    await page.getByRole("link").filter({ hasText: SHOWN_HOSTILE }).click();
    const cells = (tool: string) =>
      soon(() => page.getByRole("row").filter({ hasText: tool }).textContent());
    await cells("calculator").toContain("AsksThe policy names it: each of its calls asks.");
    await cells("send_payment").toContain("AsksEvery call of an irreversible tool asks.");
    await cells("change_supplier").toContain(
      "Asks after outside contentOnce the run has read content from outside, its writes ask.",
    );
    await cells("change_supplier").toContain(SHOWN_HOSTILE);
    await page.getByText("Never pay an invoice twice.").waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    await judgePage(page);
    expect(opened.faults).toEqual([]);
  });

  test("shows the difference of two versions by field and by line", async () => {
    const { page } = opened;
    await page.getByLabel("Compare with").selectOption("1");
    await page.getByText("from version 1 to 2").waitFor();
    await soon(() => page.url()).toEndWith("?version=2&diff=1");
    await soon(() => page.getByRole("row").allTextContents()).toEqual([
      "FieldVersion 1Version 2",
      "policy.unattended_writesfalsetrue",
      "policy.require_approval–calculator",
      "budgets.max_rounds257",
    ]);
    const lines = page.locator(".diff li");
    await soon(async () => (await lines.allTextContents()).slice(-2)).toEqual([
      "−removed:Never pay twice.",
      "+added:Never pay an invoice twice.",
    ]);
    await judgePage(page);
    await page.keyboard.press("j");
    await soon(() => page.url()).toEndWith("?version=1");
    // The difference named the text, too.
    await lines.first().waitFor({ state: "detached" });
    await page.getByText("Never pay twice.").waitFor();
    const row = page.getByRole("row").filter({ hasText: "change_supplier" });
    await soon(() => row.textContent()).toContain(
      "AsksThe policy lets no write run without a person.",
    );
    expect(opened.faults).toEqual([]);
  });

  test("holds it with a reason, and releases it", async () => {
    const { page } = opened;
    await button("Hold").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill(HOSTILE);
    await dialog.getByRole("button", { name: "Hold", exact: true }).click();
    await page.getByText("Held. No new run starts.").waitFor();
    await soon(() => page.getByRole("note").textContent()).toContain(SHOWN_HOSTILE);
    await soon(() => button("Start run").isDisabled()).toBeTrue();
    await button("Release").click();
    await page.getByText("Released. The runs that waited start.").waitFor();
    await button("Hold").waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("starts a run with a message", async () => {
    const { page } = opened;
    await button("Start run").click();
    const dialog = page.getByRole("dialog");
    const start = dialog.getByRole("button", { name: "Start run" });
    await soon(() => start.isDisabled()).toBeTrue();
    await dialog.getByLabel("Message").fill("!say Third.");
    await start.click();
    await page.getByText("Started.").waitFor();
    const href = await page.getByRole("link", { name: "Open run" }).getAttribute("href");
    const { stdout } = await opened.room.perform(["runs", "show", href!.split("/").at(-1)!]);
    expect(stdout).toContain("!say Third.");
    await page.keyboard.press("Escape");
    await page.getByRole("img", { name: "Last runs: 3 succeeded" }).waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("says that an id or a version is unknown, and shows an output schema", async () => {
    const { page, server } = opened;
    await page.goto(`${server.url}/console/agents/0198f000-0000-7000-8000-000000000001`);
    await page.getByText("There is no agent 00000001, or no such version of it.").waitFor();
    await page.getByRole("link", { name: "All agents" }).click();
    await page.getByRole("link").filter({ hasText: "Night" }).click();
    await page.getByRole("heading", { name: "Output schema" }).waitFor();
    await judgePage(page);
    await page.goto(`${server.url}/console/agents/${clerk}?version=9`);
    await page.getByText(/or no such version of it/).waitFor();
  });
}
