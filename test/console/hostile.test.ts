// Fills each field that a stranger can fill with hostile text, and looks at every page.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { hasBrowser } from "../support/browser.ts";
import { HOSTILE, openStrangers, RUBBISH } from "./strangers.ts";
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
/** More make a page slow. */
const ELEMENTS_MAX = 6_000;

/** What a page must have none of. */
const LOOK = `(() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const hidden = [];
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (node.parentElement.closest("script, style, .exact")) continue;
    if (/[\\u0000-\\u0008\\u001b\\u200b\\u202a-\\u202e\\u2028\\ufeff\\u{e0041}]/u.test(node.data))
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

  const post = <T = Record<string, string>>(path: string, body: object) =>
    askAsOwner<T>(opened.server, "POST", `/v1${path}`, body);
  const list = async (path: string) =>
    (await askAsOwner<{ data: { id: string; seq?: number }[] }>(opened.server, "GET", path)).data;
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

  async function makeOthers(agent: string, host: string): Promise<string> {
    const { room } = opened;
    const url = `http://${host}/hook/<script>alert(1)</script>?javascript:${"u".repeat(500)}`;
    const events = ["run.completed", "run.failed"];
    const hook = await post("/webhooks", { url, description: HOSTILE, events });
    const schedule = { kind: "cron", cron: "0 2 * * *", time_zone: "Asia/Riyadh" };
    const input = { message: RUBBISH };
    const name = HOSTILE.slice(-150);
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
    for (const { id } of JSON.parse(stdout)) paths.push(`/approvals/${id}`);
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
