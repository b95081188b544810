// Walks the list of runs and one run in a real browser.
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

interface RunRow {
  id: string;
  status: string;
  finished_at: string | null;
}

if (!hasBrowser) test.skip("runs in a browser: there is no Chromium here", () => {});
else describe("runs in the console", walkRuns);

function walkRuns() {
  let walk: OpenedConsole;
  let tools: Bun.Server<undefined>;
  let agent: string;
  let paid: string;

  const start = async (message: string, of = agent) => {
    const { id } = await askAsOwner(walk.server, "POST", `/v1/agents/${of}/runs`, {
      input: { message },
    });
    return id as string;
  };
  const reach = async (id: string, isThere: (run: RunRow) => boolean) => {
    for (;;) {
      const run = (await askAsOwner(walk.server, "GET", `/v1/runs/${id}`)) as unknown as RunRow;
      if (isThere(run)) return run;
    }
  };
  const hasEnded = ({ finished_at }: RunRow) => finished_at !== null;
  const row = (name: string | RegExp) => walk.page.getByRole("row", { name });

  beforeAll(async () => {
    const reply = { supplier: HOSTILE };
    tools = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.json(reply) });
    const host = `127.0.0.1:${tools.port}`;
    walk = await openConsole([host]);
    const parameters = { type: "object" };
    for (const [name, risk, external_content] of [
      ["look_up", "read", true],
      ["send_payment", "irreversible", false],
    ]) {
      const tool = { name, risk, external_content, parameters, description: "Acts." };
      await askAsOwner(walk.server, "POST", "/v1/tools", {
        ...tool,
        endpoint: `http://${host}/${name}`,
      });
    }
    const names = ["look_up", "send_payment", "calculator"];
    const budgets = { max_cost_sar: "0.25" };
    const fields = { name: HOSTILE, system_prompt: "Be brief.", tools: names, budgets };
    agent = (await askAsOwner(walk.server, "POST", "/v1/agents", fields)).id as string;
    const failed = await start("It fails.\n!error context_length_exceeded");
    await reach(failed, hasEnded);
    for (let n = 0; n < 3; n++)
      await reach(await start(`Ticket ${n}\n!say Answer ${n}.`), hasEnded);
    await reach(await start(`${HOSTILE}\n!say ${HOSTILE}`), hasEnded);
    const calls = [
      "Pay invoice 7",
      "!say I look it up.",
      '!tool look_up {"number":"7"}',
      "!next",
      `!tool send_payment ${JSON.stringify({ to: HOSTILE })}`,
    ];
    paid = await start(calls.join("\n"));
    await reach(paid, ({ status }) => status === "waiting_approval");
  });
  afterAll(async () => {
    await walk?.close();
    await tools?.stop(true);
  });

  test("lists active runs first, then the newest, with counts by status", async () => {
    const { page } = walk;
    await page.getByRole("link", { name: /^Runs/ }).click();
    await page.getByText("1 active, 6 in 24 hours").waitFor();
    await row("Pay invoice 7").waitFor();
    await soon(() => page.locator("tbody tr .x").allTextContents()).toEqual([
      ...["Pay invoice 7", SHOWN_HOSTILE],
      ...["Ticket 2", "Ticket 1", "Ticket 0", "It fails."],
    ]);
    expect(await page.locator("main img").count()).toBe(0);
    await soon(() => page.title()).toBe("Runs · Wadi");
    await soon(() => row("It fails.").textContent()).toContain("context_length_exceeded");
    await soon(() => row("Pay invoice 7").getByRole("img").getAttribute("aria-label")).toMatch(
      /^Queued .+, worked .+, waited /,
    );
    await page.getByRole("button", { name: "Waiting 1" }).waitFor();
    expect(walk.faults).toEqual([]);
  });

  test("keeps its filters in the address, also back and forward", async () => {
    const { page } = walk;
    await page.getByRole("button", { name: "Failed 1" }).click();
    await row("Ticket 0").waitFor({ state: "detached" });
    await soon(() => page.url()).toEndWith("/console/runs?status=failed");
    await soon(() => page.locator("footer code").textContent()).toBe(
      "wadi runs list --status failed --since 24h",
    );
    await page.getByRole("link", { name: "It fails." }).click();
    await page.getByRole("heading", { level: 1, name: /It fails/ }).waitFor();
    await page.goBack();
    await row("It fails.").waitFor();
    await page.getByRole("button", { name: "All" }).click();
    await page.getByLabel("Range").selectOption("1h");
    await soon(() => page.locator("main [aria-busy=true]").count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.locator("h1").click();
    await page.keyboard.press("/");
    await page.keyboard.type("no such thing");
    await page.getByText("No runs match. 6 without filters.").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await row("Ticket 1").waitFor();
    await soon(() => page.getByLabel("Search runs").inputValue()).toBe("");
    expect(walk.faults).toEqual([]);
  });

  test("moves, peeks and copies by keyboard", async () => {
    const { page } = walk;
    await page.goto(`${walk.server.url}/console/runs`);
    await row("Pay invoice 7").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press(" ");
    const peek = page.getByRole("complementary", { name: /^Run / });
    await peek.getByText("U+202E").first().waitFor();
    await soon(() => peek.textContent()).toContain(SHOWN_HOSTILE);
    await page.keyboard.press("j");
    await peek.getByText("Answer 2.", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await peek.waitFor({ state: "detached" });
    await page.keyboard.press("j");
    await page.keyboard.press("c");
    await page.getByText("Copied.").waitFor();
    const copied = (await page.evaluate("navigator.clipboard.readText()")) as string;
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /Pay invoice 7/ }).waitFor();
    expect([copied, page.url()]).toEqual([paid, `${walk.server.url}/console/runs/${paid}`]);
    await page.goBack();
    expect(walk.faults).toEqual([]);
  });

  test("new runs wait behind their count while rows are selected, which are cancelled", async () => {
    const { page } = walk;
    await row("Pay invoice 7").waitFor();
    const stalled = await start("Stalled one\n!stall");
    await row("Stalled one").waitFor();
    await row("Stalled one").click({ modifiers: ["Shift"] });
    await row("Ticket 0").click({ modifiers: ["Shift"] });
    await page.getByText("2 runs selected").waitFor();
    const late = await start("Late one\n!stall");
    await page.getByRole("button", { name: "1 new row" }).waitFor();
    expect(await row("Late one").count()).toBe(0);
    await page.getByRole("button", { name: "Cancel run" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Cancel “Stalled one”?" });
    await dialog.getByRole("button", { name: "Cancel run" }).click();
    await page.getByText("1 run was asked to stop.").waitFor();
    await reach(stalled, ({ status }) => status === "cancelled");
    await row("Late one").waitFor();
    await row(/Cancelled Stalled one/).waitFor();
    await walk.room.perform(["runs", "cancel", late]);
    expect(walk.faults).toEqual([]);
  });

  test("the list looks right at every size", async () => {
    await judgePage(walk.page);
    expect(walk.faults).toEqual([]);
  });

  test("a run shows its pieces, and first the one that waits", async () => {
    const { page } = walk;
    await page.goto(`${walk.server.url}/console/runs/${paid}`);
    await page.getByRole("heading", { level: 2, name: "send_payment" }).waitFor();
    const rows = page.getByRole("region", { name: "Timeline" }).getByRole("row");
    await soon(() => rows.count()).toBe(6);
    await soon(() => rows.nth(3).textContent()).toContain("outside");
    await soon(() => rows.nth(5).textContent()).toContain("Waiting");
    const detail = page.getByRole("complementary", { name: /^Step / });
    await soon(() => detail.textContent()).toContain("U+202Egnp.exe");
    await soon(() => page.getByRole("meter", { name: "Cost of budget" }).count()).toBe(1);
    expect(await page.locator("main img").count()).toBe(0);
    await page.getByRole("link", { name: "Open approval" }).first().waitFor();
    expect(walk.faults).toEqual([]);
  });

  test("steps are chosen by keyboard, kept in the address, and shown as JSON", async () => {
    const { page } = walk;
    const detail = page.getByRole("complementary", { name: /^Step / });
    await page.keyboard.press("p");
    await page.getByRole("heading", { level: 2, name: "Model, round 2" }).waitFor();
    await page.keyboard.press("k");
    await page.getByRole("heading", { level: 2, name: "look_up" }).waitFor();
    await soon(() => detail.textContent()).toContain(SHOWN_HOSTILE.replaceAll('"', '\\"'));
    await page.getByRole("tab", { name: "JSON" }).click();
    await detail.getByText('"tool_result"').waitFor();
    const address = page.url();
    expect(address).toMatch(/\?step=\d+&view=json$/);
    await page.getByRole("tab", { name: "Read" }).click();
    await page.locator("h1").click();
    await page.keyboard.press("Enter");
    await soon(() => page.evaluate("document.activeElement.ariaLabel")).toBe("Step 2");
    await page.goto(address);
    await detail.getByText('"tool_result"').waitFor();
    expect(walk.faults).toEqual([]);
  });

  test("shows on demand what the model saw in a round", async () => {
    const { page } = walk;
    await page.goto(`${walk.server.url}/console/runs/${paid}`);
    await page.getByRole("heading", { level: 2, name: "send_payment" }).waitFor();
    await page.keyboard.press("p");
    await page.getByRole("button", { name: "Show messages" }).click();
    await page.getByText(/^4 messages, \d+ tokens$/).waitFor();
    const result = page.locator(".msgs details").last();
    await result.locator("summary").click();
    await soon(() => result.textContent()).toMatch(/<outside-\w{16}>/);
    expect(await page.getByText("Settings or summaries have changed").count()).toBe(0);
    expect(walk.faults).toEqual([]);
  });

  test("one run looks right at every size", async () => {
    await judgePage(walk.page);
    expect(walk.faults).toEqual([]);
  });

  test("a run is copied, started again and cancelled", async () => {
    const { page } = walk;
    await page.getByLabel("Copy as").selectOption("curl");
    await page.getByText("Copied.").waitFor();
    const curl = (await page.evaluate("navigator.clipboard.readText()")) as string;
    expect(curl).toContain(`/v1/agents/${agent}/runs`);
    expect(curl).toContain('"Authorization: Bearer $WADI_API_KEY"');
    expect(curl).not.toContain(walk.server.key);
    await page.getByRole("button", { name: "Run again" }).click();
    await page.getByText("The run started.").waitFor();
    await page.waitForURL((url) => !url.href.includes(paid));
    await page.getByRole("heading", { level: 2, name: "send_payment" }).waitFor();
    await page.getByRole("button", { name: "Cancel run" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel “Pay invoice 7”?" });
    await dialog.getByRole("button", { name: "Cancel run" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("Cancelled").first().waitFor();
    await page.getByRole("button", { name: "Cancel run" }).waitFor({ state: "detached" });
    const cancelled = page.url().split("/").at(-1)!;
    await page.getByRole("button", { name: "Repeat from record" }).click();
    const first = page.getByRole("link", { name: /^repeats / });
    await first.waitFor();
    await page.waitForURL((url) => !url.href.includes(cancelled));
    expect(await first.getAttribute("href")).toBe(`/console/runs/${cancelled}`);
    await page.getByText("not_recorded").first().waitFor();
    await page.getByRole("button", { name: "The run that it repeats" }).click();
    const beside = page.getByRole("table", { name: "The comparison" });
    const read = async (name: string) =>
      beside.getByRole("row", { name }).getByRole("cell").allTextContents();
    await beside.waitFor();
    expect(await read("Status")).toEqual(["cancelled cancelled", "failed not_recorded"]);
    expect((await read("Version")).map(Number)).toEqual([1, 1]);
    const calls = await beside.getByRole("row", { name: "Call" }).allTextContents();
    expect(calls.some((text) => text.includes("look_up") && text.includes("ok"))).toBe(true);
    await judgePage(page);
    await soon(() => page.locator("footer code").textContent()).toContain("wadi runs compare ");
    // Any other run, by a part of its id or among the newest of the agent.
    const field = page.getByRole("combobox", { name: "Compare with" });
    await field.focus();
    await soon(() => page.locator(`datalist option[value="${paid}"]`).count()).toBe(1);
    await field.fill(paid.slice(-8));
    await field.press("Enter");
    await soon(() => read("Status")).toEqual(["waiting_approval", "failed not_recorded"]);
    await soon(() => page.url()).toContain(`compare=${paid.slice(-8)}`);
    await field.fill("00000000");
    await field.press("Enter");
    await page.getByRole("alert").filter({ hasText: "The comparison" }).waitFor();
    await soon(() => beside.count()).toBe(0);
    await field.fill("");
    await field.press("Enter");
    await page.getByRole("alert").waitFor({ state: "detached" });
    expect(walk.faults.splice(0).filter((fault) => !fault.includes("404"))).toEqual([]);
  });

  test("follows a run while it works", async () => {
    const { page } = walk;
    const id = await start("Slow one\n!stall");
    await page.goto(`${walk.server.url}/console/runs/${id}`);
    await page.getByText("The model works on its reply.").waitFor();
    const bar = page.locator(".br.ttft");
    const time = page.locator("tbody tr.on .c4");
    const before = await time.textContent();
    while ((await time.textContent()) === before);
    await soon(() => bar.count()).toBe(1);
    await walk.room.perform(["runs", "cancel", id]);
    await page.getByText("It wrote none.").waitFor();
    expect(walk.faults).toEqual([]);
  });

  test("shows what the model writes before its reply is whole", async () => {
    const { page } = walk;
    // A key whose runs are read gets its next replies in pieces.
    const first = await start("Slow one\n!stall");
    await walk.room.perform(["runs", "show", first]);
    await walk.room.perform(["runs", "cancel", first]);
    const id = await start(`Tell\n!say I write ${HOSTILE}\n!stall`);
    await page.goto(`${walk.server.url}/console/runs/${id}`);
    await page.locator("aside.detail").getByText(`I write ${SHOWN_HOSTILE}`).waitFor();
    await page.getByText("The model works on its reply.").waitFor();
    await walk.room.perform(["runs", "cancel", id]);
    await page.getByText("It wrote none.").waitFor();
    expect(walk.faults).toEqual([]);
  });

  test("says that there is no such run", async () => {
    const { page } = walk;
    await page.goto(`${walk.server.url}/console/runs/0198f000-0000-4000-8000-000000000001`);
    await page.getByText("There is no run 00000001.").waitFor();
    await page.getByRole("link", { name: "Go to the list of runs" }).click();
    await row("Ticket 1").waitFor();
    // A browser reports each answer with 404.
    expect(walk.faults.splice(0).every((fault) => fault.includes("404"))).toBeTrue();
  });
}
