// Fills each field that a stranger can fill with hostile text, and looks at every page.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { signWith } from "../spec/agents/hook-front.ts";
import { hasBrowser, watchPage } from "../support/browser.ts";
import { HOSTILE, openStrangers, printable, RUBBISH } from "./strangers.ts";
import { askAsOwner, type OpenedConsole, openConsole, soon } from "./support.ts";

const writeModels = (host: string) => `
[service]
default_model = "wild"
[[models]]
id = "wild"
self_hosted = true
capabilities = ["tools", "streaming"]
upstream = { kind = "openai", urls = ["http://${host}/v1"] }
[[models]]
id = "stub"
self_hosted = true
capabilities = ["tools", "streaming"]
upstream = { kind = "stub" }
`;
/** A name for which links are made: it has no hidden characters, but may be markup. */
const PERSON = '<img src=x onerror="alert(1)"> شركة';
/** What a browser may call itself: headers hold bytes, some of which are hidden characters. */
const USER_AGENT = `${printable}\u0085\u00adChrome/${"9".repeat(500)} Linux`;
/** More make a page slow. */
const ELEMENTS_MAX = 6_000;

/** What a page must have none of. */
const LOOK = `(() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const hidden = [];
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (node.parentElement.closest("script, style, .exact")) continue;
    if (/[\\u0000-\\u0008\\u001b\\u007f-\\u009f\\u00ad\\u200b\\u202a-\\u202e\\u2028\\ufeff\\u{e0041}]/u.test(node.data))
      hidden.push(node.parentElement.outerHTML.slice(0, 100));
  }
  return {
    hidden,
    isWide: scrollWidth > clientWidth,
    made: document.querySelectorAll("main :is(img, script, style, iframe)").length,
    isLarge: document.querySelectorAll("*").length > ${ELEMENTS_MAX},
    foreign: [...document.links].map((link) => link.href)
      .filter((href) => !href.startsWith(location.origin + "/")),
    isRenamed: !document.title.endsWith(" · Wadi"),
  };
})()`;
const NOTHING = {
  ...{ hidden: [], isWide: false, made: 0, isLarge: false, foreign: [], isRenamed: false },
};

if (!hasBrowser) test.skip("hostile text in a browser: there is no Chromium here", () => {});
else describe("hostile text", walkHostile);

function walkHostile() {
  let strangers: Bun.Server<undefined>;
  let opened: OpenedConsole;
  const paths: string[] = [];
  /** Approvals that wait. */
  let asked: string[];

  const post = <T = Record<string, string>>(path: string, body: object) =>
    askAsOwner<T>(opened.server, "POST", `/v1${path}`, body);
  const list = async (path: string) =>
    (
      await askAsOwner<{ data: { id: string; seq?: number; run_id?: string }[] }>(
        opened.server,
        "GET",
        path,
      )
    ).data;
  /** Goes there as a link does, which is quicker than a new page. */
  const open = async (path: string) => {
    await opened.page.evaluate(`(async () => {
      const draw = () => new Promise(requestAnimationFrame);
      history.pushState(null, "", ${JSON.stringify(`/console${path}`)});
      dispatchEvent(new PopStateEvent("popstate"));
      await draw();
      do await draw();
      while (document.querySelector("[aria-busy=true]"));
      const closed = document.querySelectorAll("main :is(summary, button.link[aria-expanded=false])");
      for (const one of closed) one.click();
      await draw();
    })()`);
  };
  const reach = async (id: string) => {
    for (;;) {
      const { status } = await askAsOwner(opened.server, "GET", `/v1/runs/${id}`);
      if (status !== "queued" && status !== "running") return;
    }
  };

  async function openAgent(host: string): Promise<string> {
    for (const [name, risk] of [
      ["peek", "read"],
      ["pay", "irreversible"],
    ]) {
      const properties = { note: { type: "string", description: RUBBISH } };
      await post("/tools", {
        ...{ name, risk, title: HOSTILE.slice(0, 256), description: RUBBISH.slice(0, 1_000) },
        endpoint: `http://${host}/tool/<script>alert(1)</script>?javascript:alert(1)`,
        parameters: { type: "object", properties },
      });
    }
    const fields = { description: HOSTILE, system_prompt: RUBBISH };
    const tools = ["peek", "pay", "read_page"];
    const { id } = await post("/agents", { ...fields, name: HOSTILE.slice(-120), tools });
    return id!;
  }

  async function startRuns(agent: string, host: string): Promise<void> {
    const stub = { system_prompt: "Be brief.", model: "stub", tools: ["peek", "read_page"] };
    const { id } = await post("/agents", { name: HOSTILE.slice(0, 200), ...stub });
    const url = `http://${host}/page/<script>?javascript:alert(1)`;
    const page = `!tool read_page ${JSON.stringify({ url })}\n!next\n!tool peek {}\n!next`;
    for (const [of, message] of [
      [agent, `ODD ${RUBBISH}`],
      [agent, "CONTROLS"],
      [agent, `FAIL ${RUBBISH}`],
      [agent, "\u0001\u202E".repeat(10_000)],
      [id!, `${HOSTILE.replaceAll("\u2028", "")}\n${page}\n!say ${HOSTILE}`],
      [id!, "W".repeat(99_000)],
    ]) {
      const run = await post(`/agents/${of}/runs`, { input: { message } });
      await reach(run.id!);
      paths.push(`/runs/${run.id}?view=json`);
      for (const { seq } of (await list(`/v1/runs/${run.id}/steps`)).slice(-3)) {
        paths.push(`/runs/${run.id}?step=${seq}`);
      }
    }
    paths.push(`/agents/${agent}`, `/agents/${id}`);
  }

  async function sendRequests(): Promise<void> {
    const messages = [{ role: "user", content: RUBBISH }];
    for (const model of ["stub", "wild", "__proto__", HOSTILE, RUBBISH.slice(-2_000)]) {
      await opened.server.chat("", { body: { model, messages, user: RUBBISH.slice(0, 250) } });
    }
  }

  /** Fires a trigger by a request whose body a stranger wrote. */
  async function fireHook(agent_id: string): Promise<void> {
    const fields = { agent_id, name: HOSTILE.slice(0, 150), kind: "webhook", overlap: "allow" };
    const { id, secret } = await post("/triggers", fields);
    const body = JSON.stringify({ [HOSTILE]: RUBBISH, line: "W".repeat(60_000) });
    const at = String(Math.floor(Date.now() / 1_000));
    const reply = await fetch(`${opened.server.url}/v1/hooks/${id}`, {
      ...{ method: "POST", body },
      headers: {
        "content-type": "application/json",
        ...{ "webhook-id": "msg_1", "webhook-timestamp": at },
        "webhook-signature": signWith(secret!, "msg_1", at, body),
      },
    });
    expect(reply.status).toBe(202);
    const [fire] = await list(`/v1/triggers/${id}/fires`);
    const run_id = fire!.run_id!;
    await reach(run_id);
    paths.push(`/triggers/${id}`, `/runs/${run_id}`);
  }

  async function makeOthers(agent: string, host: string): Promise<string> {
    const { room } = opened;
    const url = `http://${host}/hook/<script>alert(1)</script>?javascript:${"u".repeat(500)}`;
    const events = ["run.completed", "run.failed"];
    const hook = await post("/webhooks", { url, description: HOSTILE, events });
    const schedule = { kind: "cron", cron: "0 2 * * *", time_zone: "Asia/Riyadh" };
    const input = { message: RUBBISH };
    const name = HOSTILE.slice(-150);
    await fireHook(agent);
    const trigger = await post("/triggers", { agent_id: agent, name, ...schedule, input });
    await room.perform(["triggers", "fire", trigger.id!]);
    await room.perform(["accounts", "create", "constructor"]);
    await room.perform(["accounts", "hold", "constructor", "--reason", `${HOSTILE.slice(0, 150)}`]);
    const ofKey = ["--account", "constructor", "--name", HOSTILE.slice(0, 128)];
    await room.perform(["keys", "create", ...ofKey]);
    paths.push(`/triggers/${trigger.id}`, `/webhooks/${hook.id}`);
    return hook.id!;
  }

  beforeAll(async () => {
    strangers = openStrangers();
    const host = `127.0.0.1:${strangers.port}`;
    opened = await openConsole([host], async ({ directory }) => {
      await Bun.write(join(directory, "wadi.toml"), writeModels(host));
    });
    const agent = await openAgent(host);
    const hook = await makeOthers(agent, host);
    await startRuns(agent, host);
    await sendRequests();
    await opened.room.perform(["agents", "hold", agent, "--reason", HOSTILE.slice(0, 150)]);
    for (const { id } of await list(`/v1/webhooks/${hook}/deliveries`)) {
      paths.push(`/webhooks/${hook}?delivery=${id}`);
    }
    const { stdout } = await opened.room.perform(["approvals", "list", "--json"]);
    const waiting = JSON.parse(stdout) as { id: string }[];
    for (const { id } of waiting) paths.push(`/approvals/${id}`);
    asked = waiting.map(({ id }) => id);

    const { rows } = JSON.parse((await opened.room.perform(["requests", "list", "--json"])).stdout);
    for (const { request_id } of rows) paths.push(`/requests/${request_id}`);
    paths.push("/", "/approvals", "/runs", "/agents", "/triggers", "/webhooks", "/requests");
    paths.push(
      "/models",
      "/usage",
      "/usage?by=agent",
      "/playground",
      "/keys",
      "/keys?show=sessions",
    );
  });
  afterAll(async () => {
    await opened?.close();
    await strangers?.stop(true);
  });

  test("is text on every page, and makes none wide, large or slow", async () => {
    const { page, faults } = opened;
    expect(paths.length).toBeGreaterThan(40);
    for (const path of paths) {
      await page.setViewportSize({ width: 1440, height: 900 });
      await open(path);
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 900 });
        expect({ path, width, ...(await page.evaluate<object>(LOOK)) }).toEqual({
          ...{ path, width, ...NOTHING },
        });
      }
      expect([path, ...faults]).toEqual([path]);
    }
  });

  /** Expects a page that is as it should be, wide and narrow. */
  const judge = async (page: Page, what: string) => {
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      expect({ what, width, ...(await page.evaluate<object>(LOOK)) }).toEqual({
        ...{ what, width, ...NOTHING },
      });
    }
  };

  test("is text on a teammate's page, before and after the decision", async () => {
    const { room, server, browser } = opened;
    const [, ...others] = asked;
    const links = others.map((id) => [id, "--for", PERSON]);
    for (const of of [...links, ["--account", "default", "--for", PERSON]]) {
      const guest = await (await browser.newContext()).newPage();
      const faults = watchPage(guest);
      const { hash } = new URL((await room.perform(["approvals", "link", ...of])).stdout.trim());
      await guest.goto(`${server.url}/console/a${hash}`);
      await guest.getByText(`You decide as ${PERSON}`).waitFor();
      const items = guest.locator("a.item");
      if (of[0] === "--account") {
        await items.first().waitFor();
        await judge(guest, "the list");
        await items.first().click();
      }
      await guest.locator("article h1").waitFor();
      await judge(guest, "an approval");
      await guest.getByRole("tab", { name: "JSON" }).click();
      await judge(guest, "an approval as JSON");
      if (of[0] !== "--account") {
        await room.perform(["approvals", "reject", of[0]!, "--reason", HOSTILE.slice(0, 200)]);
        await guest.getByText(/This approval was decided by/).waitFor();
        await judge(guest, "a decided approval");
        await guest.reload();
        await guest.getByText(/This approval was decided by/).waitFor();
        await judge(guest, "a decision");
      }
      expect(faults).toEqual([]);
      await guest.context().close();
    }
  });

  test("is text in the dialog that makes a link, and refused as a name where it hides", async () => {
    const { page, faults } = opened;
    await open(`/approvals/${asked[0]}`);
    await page.getByRole("button", { name: "Ask a teammate" }).click();
    await page.getByLabel("Name").fill("x\u202Egnp.exe");
    await page.getByRole("button", { name: "Create link" }).click();
    await page.getByText("a link is for a name of visible characters").waitFor();
    await judge(page, "a refused name");
    // A browser reports each refusal.
    expect(faults.splice(0).every((fault) => fault.includes("400"))).toBeTrue();
    await page.getByLabel("Name").fill(PERSON);
    await page.getByRole("button", { name: "Create link" }).click();
    await page.getByText(`Send this link to ${PERSON}.`).waitFor();
    await judge(page, "a made link");
    await page.getByRole("button", { name: "Done" }).click();
  });

  test("is text in the list of sessions, whatever browsers call themselves", async () => {
    const { page, room, server, faults } = opened;
    const trade = async (made: readonly string[], path: string) => {
      const { hash } = new URL((await room.perform(made)).stdout.trim());
      const headers = { origin: server.url, "user-agent": USER_AGENT };
      const body = JSON.stringify({ token: hash.slice(1) });
      const reply = await fetch(server.url + path, { method: "POST", headers, body });
      expect(reply.status).toBe(200);
    };
    await trade(["console"], "/console/session");
    const link = ["approvals", "link", "--account", "default", "--for", PERSON];
    await trade(link, "/operator/link/session");
    await room.perform(link);
    await open("/keys?show=sessions");
    await page.getByText(`${PERSON}, by link of`).nth(1).waitFor();
    await page.getByText("nobody has opened it yet").first().waitFor();
    await judge(page, "the sessions");
    const titles = await page.locator("td[title]").evaluateAll((cells) => {
      return cells.map((cell) => (cell as unknown as { title: string }).title);
    });
    expect(titles.join("")).not.toMatch(/[\u007f-\u009f\u00ad]/);
    expect(faults).toEqual([]);
  });

  test("is quoted in commands, and an address that nothing has says so", async () => {
    const { page, server } = opened;
    const command = page.locator("footer code");
    await open(`/requests/${encodeURIComponent("x';reboot")}`);
    await soon(() => command.textContent()).toBe("wadi requests show 'x'\\'';reboot'");
    await open("/requests?account=%3Breboot&model=%24(reboot)");
    await soon(() => command.textContent()).toContain("--model '$(reboot)'");
    await open(`/agents/${encodeURIComponent("x\u202E;reboot")}`);
    await page.getByText(/^There is no agent/).waitFor();
    await soon(() => command.textContent()).toBe("wadi agents show 'U+202E;reboot'");
    await page.goto(`${server.url}/console/runs/%ff`);
    await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
  });
}
