// Walks the console's pages of triggers: times, fires, pauses, and a secret that is shown once.
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

if (!hasBrowser) test.skip("triggers in a browser: there is no Chromium here", () => {});
else describe("the pages of triggers", walkTriggers);

function walkTriggers() {
  let opened: OpenedConsole;
  let cron: string;
  let hook: string;
  let secret: string;

  const open = async (path: string) => {
    await opened.page.goto(`${opened.server.url}/console/triggers${path}`);
  };
  const button = (name: string) => opened.page.getByRole("button", { name, exact: true });

  beforeAll(async () => {
    opened = await openConsole();
    const { server } = opened;
    const agent = { name: "Clerk", system_prompt: "Be brief." };
    const { id: agent_id } = await askAsOwner(server, "POST", "/v1/agents", agent);
    const create = async (fields: object) =>
      (await askAsOwner(server, "POST", "/v1/triggers", { agent_id, ...fields })).id!;
    const schedule = { kind: "cron", cron: "0 2 * * *", time_zone: "Asia/Riyadh" };
    const input = { message: `!say ${HOSTILE}` };
    cron = await create({ name: HOSTILE, ...schedule, overlap: "allow", input });
    hook = await create({ name: "Door bell", kind: "webhook", input: { message: "!say Yes." } });
  });
  afterAll(() => opened?.close());

  test("lists triggers with their next times and outcomes, and fires one by hand", async () => {
    const { page } = opened;
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.getByText("2 triggers", { exact: true }).waitFor();
    const row = page.getByRole("row").nth(1);
    await soon(() => row.textContent()).toContain(SHOWN_HOSTILE);
    await soon(() => row.textContent()).toContain("never fired");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await button("Fire now").click();
    await page.getByText("Fired. A run started.").waitFor();
    await page.getByRole("link", { name: "Open run" }).waitFor();
    await page.getByRole("row", { name: /Started.*by hand/ }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("img", { name: "Last fires: 1 started" }).waitFor();
    await judgePage(page);
    expect(opened.faults).toEqual([]);
  });

  test("shows the next three times in the trigger's zone and in the reader's", async () => {
    const { page } = opened;
    await open(`/${cron}`);
    const timing = page.getByRole("region", { name: "When it fires" });
    await timing.getByText("0 2 * * *").waitFor();
    await soon(() => timing.getByRole("listitem").count()).toBe(3);
    const zone = (await page.evaluate(
      "Intl.DateTimeFormat().resolvedOptions().timeZone",
    )) as string;
    for (const text of await timing.getByRole("listitem").allTextContents()) {
      expect(text).toContain(", 02:00");
      expect(text).toContain(` here, ${zone}`);
    }
    await soon(() => timing.textContent()).toContain(SHOWN_HOSTILE);
    expect(await page.locator("main img").count()).toBe(0);
    await judgePage(page);
    expect(opened.faults).toEqual([]);
  });

  test("pauses and resumes it", async () => {
    const { page } = opened;
    await button("Pause").click();
    await page.getByText("Paused. It does not fire.").waitFor();
    await page.getByText("None while it is paused.").waitFor();
    await soon(() => button("Fire now").count()).toBe(0);
    await button("Resume").last().click();
    await page.getByText("Resumed. It does not fire for what it missed.").waitFor();
    await button("Fire now").waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("rotates a secret, which is shown once and asked about before it is lost", async () => {
    const { page } = opened;
    await open(`/${hook}`);
    await button("Rotate").click();
    const dialog = page.getByRole("dialog", { name: "Rotate the secret of “Door bell”?" });
    await dialog.getByLabel("The old secret ends").selectOption("in 1 hour");
    await dialog.getByRole("button", { name: "Rotate" }).click();
    const box = page.getByText("“Door bell” has a new secret.");
    await box.waitFor();
    secret = (await page.locator("output").textContent())!;
    expect(secret).toStartWith("whsec_");
    await page.getByText(/The old one works until/).waitFor();
    await judgePage(page);
    await button("Done").click();
    await page.getByText("It was not copied, and Wadi can’t show it again.").waitFor();
    await button("Leave without it").click();
    await box.waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(secret);
    await page.getByText("Old secret ends").waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("gives a signed request that works with the secret in its variable", async () => {
    const { page } = opened;
    const code = await page.locator("pre.code").first().textContent();
    expect(code).toContain("$SECRET".slice(1));
    expect(code).not.toContain("whsec_P");
    const shell = Bun.spawn(["sh", "-c", code!], {
      ...{ env: { PATH: process.env.PATH, SECRET: secret }, stdout: "pipe", stderr: "pipe" },
    });
    expect(JSON.parse(await shell.stdout.text())).toMatchObject({ fire: { outcome: "started" } });
    await page.getByRole("row", { name: /Started.*signed request/ }).waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("says why the system has paused one, and which key it is about", async () => {
    const { page, room } = opened;
    const { stdout } = await room.perform(["keys", "list", "--json"]);
    const [key] = JSON.parse(stdout) as { id: string }[];
    await room.perform(["keys", "revoke", key!.id]);
    await button("Fire now").click();
    await page.getByText("Fire now was refused.").waitFor();
    await page.getByText("Wadi paused it because of its key.").waitFor();
    const note = page.getByRole("note");
    await soon(() => note.textContent()).toContain(key!.id.slice(-8));
    await open("");
    await page.getByText("2 triggers, 1 paused by Wadi").waitFor();
    await page.getByRole("button", { name: /^Paused by Wadi/ }).click();
    await soon(() => page.getByRole("row").count()).toBe(2);
    await soon(() => page.url()).toEndWith("?show=stopped");
    expect(opened.faults).toEqual([]);
  });

  test("says that an id is unknown", async () => {
    await open("/0198f000-0000-7000-8000-000000000001");
    await opened.page.getByText("There is no trigger 00000001.").waitFor();
    await opened.page.getByRole("link", { name: "All triggers" }).click();
    await opened.page.getByText("Door bell").waitFor();
  });
}
