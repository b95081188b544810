// Walks the console of the compiled program in a real browser.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import { closePages, hasBrowser, openBrowser, watchPage } from "../support/browser.ts";
import { findFaults, soon } from "./support.ts";

const HOSTILE = '<img src=x onerror="document.title=1"> \u202Egnp.exe';
const SIZES = [390, 768, 1100, 1440];
const THEMES = ["light", "dark"] as const;

interface Approval {
  id: string;
  tool: string;
  status: string;
}

if (!hasBrowser) test.skip("the console in a browser: there is no Chromium here", () => {});
else describe("the console", walkConsole);

function walkConsole() {
  let room: Room;
  let server: Server;
  let tools: Bun.Server<undefined>;
  let browser: Browser;
  let page: Page;
  let faults: string[];

  const json = async (method: string, path: string, body?: object) => {
    const reply = await server.ask(method, path, { body });
    return (await reply.json()) as Record<string, unknown>;
  };
  /** The command knows the port of the settings only, and the server has chosen one. */
  const makeLink = async (...flags: string[]) => {
    const { hash } = new URL((await room.perform(["console", ...flags])).stdout.trim());
    return `${server.url}/console/${hash}`;
  };
  const findApproval = async (tool: string) => {
    const { stdout } = await room.perform(["approvals", "list", "--json"]);
    return (JSON.parse(stdout) as Approval[]).find((approval) => approval.tool === tool);
  };

  const waitForApproval = async (tool: string) => {
    while ((await findApproval(tool)) === undefined);
  };

  beforeAll(async () => {
    room = openRoom();
    tools = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("done") });
    const host = `127.0.0.1:${tools.port}`;
    server = await room.serve(["serve", "--port", "0", "--allow-egress", host]);
    for (const [name, risk] of [
      ["send_payment", "irreversible"],
      ["change_supplier", "write"],
    ]) {
      const endpoint = `http://${host}/${name}`;
      const parameters = { type: "object", properties: { note: { type: "string" } } };
      await json("POST", "/v1/tools", { name, risk, endpoint, parameters, description: "Acts." });
    }
    const names = ["send_payment", "change_supplier"];
    const policy = { require_approval: ["change_supplier"] };
    const agent = { name: "Clerk", system_prompt: "Be brief.", tools: names, policy };
    const { id } = await json("POST", "/v1/agents", agent);
    for (const tool of names) {
      const call = `!tool ${tool} ${JSON.stringify({ note: HOSTILE, amount: 48_250 })}`;
      const message = `${HOSTILE}\n${call}\n!next\n!say Done.`;
      await json("POST", `/v1/agents/${id}/runs`, { input: { message } });
      await waitForApproval(tool);
    }
    browser = await openBrowser();
    page = await browser.newPage();
    faults = watchPage(page);
  });
  afterAll(async () => {
    await closePages(browser);
    await room.close();
    await tools.stop(true);
  });

  test("asks for a link, signs in by one, and keeps its token out of the address", async () => {
    await page.goto(`${server.url}/console/`);
    await page.getByText("Make a link on the server").waitFor();
    const link = await makeLink();
    // A link that is pasted into the open page signs in.
    await page.goto(link);
    await page.getByText("2 approvals are waiting.").waitFor();
    expect(page.url()).toBe(`${server.url}/console/`);
    const visited = await page.evaluate<string>(
      "navigation.entries().map(({ url }) => url).join()",
    );
    expect(visited).not.toContain("#");
    const other = await browser.newContext();
    const late = await other.newPage();
    await late.goto(link);
    await late.getByText("This link was used before").waitFor();
    await other.close();
    // Without a session the question for it is answered with 401, which a browser reports.
    expect(faults.splice(0)).toEqual([expect.stringContaining("401")]);
  });

  test("shows text of strangers as text", async () => {
    await page.getByRole("link", { name: "Open approvals" }).click();
    await page.getByRole("link", { name: /send_payment/ }).click();
    await page.getByRole("heading", { name: "send_payment" }).waitFor();
    const row = page.getByRole("row", { name: /note/ });
    await soon(() => row.textContent()).toContain(
      '<img src=x onerror="document.title=1"> U+202Egnp.exe',
    );
    expect(await page.locator("main img").count()).toBe(0);
    const first = page.getByRole("region", { name: "Look at this first" });
    await soon(() => first.textContent()).toContain("note contains hidden characters.");
    await soon(() => page.title()).toBe("Approvals · Wadi");
    expect(faults).toEqual([]);
  });

  test("has no serious fault of access, and scrolls in one direction, at every size", async () => {
    for (const colorScheme of THEMES) {
      // A colour in transition has the contrast of neither theme.
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      for (const width of SIZES) {
        await page.setViewportSize({ width, height: 900 });
        const wide = await page.evaluate(
          "document.documentElement.scrollWidth > document.documentElement.clientWidth",
        );
        expect([colorScheme, width, wide]).toEqual([colorScheme, width, false]);
        const found = await findFaults(page);
        expect([colorScheme, width, ...found]).toEqual([colorScheme, width]);
      }
    }
    expect(faults).toEqual([]);
  });

  test("approves an irreversible call only after its name was typed", async () => {
    const approve = page.getByRole("button", { name: "Approve" });
    await soon(() => approve.isDisabled()).toBeTrue();
    await page.keyboard.press("a");
    await page.keyboard.type("send_payment");
    await approve.click();
    await page.getByText("Approved. The run goes on.").waitFor();
    expect(await findApproval("send_payment")).toMatchObject({ status: "approved" });
    expect(faults).toEqual([]);
  });

  test("opens the next one, and rejects it by keyboard with a reason", async () => {
    await page.getByRole("heading", { name: "change_supplier" }).waitFor();
    await page.keyboard.press("x");
    await page.getByLabel("Reason").fill("Confirm by telephone first");
    await page.getByRole("button", { name: "Reject" }).click();
    await page.getByText("Rejected. The run goes on.").waitFor();
    const { id } = (await findApproval("change_supplier"))!;
    const { stdout } = await room.perform(["approvals", "show", id]);
    expect(stdout).toContain("Confirm by telephone first");
    await page.getByText("No approvals are waiting.").waitFor();
    expect(faults).toEqual([]);
  });

  test("shows a decision that is over, and ends its session", async () => {
    const { id } = (await findApproval("change_supplier"))!;
    await page.goto(`${server.url}/console/approvals/${id}`);
    await page.getByText(/This approval was decided by .* rejected\./).waitFor();
    await page.goto(`${server.url}/console/approvals/0198f000-0000-4000-8000-000000000001`);
    await page.getByText("There is no approval 00000001.").waitFor();
    faults.length = 0;
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByTitle("Sign out").click();
    await page.getByText("Make a link on the server").waitFor();
    // The page may have asked for the unknown approval once more.
    expect(faults.filter((fault) => !fault.includes("404"))).toEqual([]);
  });

  test("shows an approver the approvals, and no other page", async () => {
    await room.perform(["operators", "create", "sara", "--approver"]);
    await page.goto(await makeLink("--as", "sara"));
    await page.getByRole("heading", { name: "Approvals", level: 1 }).waitFor();
    const places = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    expect(await places.allTextContents()).toEqual(["Approvals"]);
    faults.length = 0;
    await page.goto(`${server.url}/console/runs`);
    await page.getByText("There is no such page").waitFor();
    expect(faults).toEqual([]);
  });
}
