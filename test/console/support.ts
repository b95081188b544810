// Opens the console of the compiled program in a real browser, signed in, and judges its pages.
import { expect } from "bun:test";
import { dirname } from "node:path";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { executable } from "../../scripts/build.ts";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import { closePages, openBrowser, watchPage } from "../support/browser.ts";

/** A text that is HTML, and looks like another by a mark of direction. */
export const HOSTILE = '<img src=x onerror="document.title=1"> \u202Egnp.exe';
export const SHOWN_HOSTILE = '<img src=x onerror="document.title=1"> U+202Egnp.exe';

const SIZES = [390, 768, 1100, 1440];
/** Sizes with different parts; between them only positions differ. */
const AXE_SIZES = new Set([390, 1440]);
/** Tests ask until something is so. */
const UNLIMITED = {
  WADI_LIMITS__REQUESTS_PER_MINUTE: "1000000",
  WADI_LIMITS__ADDRESS_REQUESTS_PER_MINUTE: "1000000",
};
const THEMES = ["light", "dark"] as const;

export interface OpenedConsole {
  room: Room;
  server: Server;
  browser: Browser;
  page: Page;
  /** Errors of the page, and requests that left this machine. */
  faults: string[];
  close(): Promise<void>;
}

/**
 * The server may call the hosts of `egress`, which are on loopback. `prepare` writes settings or
 * data before it starts. A server that is started again on its port needs a given one: the system
 * may assign another in between.
 */
export async function openConsole(
  egress: readonly string[] = [],
  prepare: (room: Room) => Promise<void> = async () => {},
  port = 0,
): Promise<OpenedConsole> {
  const room = openRoom();
  await prepare(room);
  const hosts = egress.flatMap((host) => ["--allow-egress", host]);
  // Commands are named as they are typed where the program is on the PATH.
  const PATH = `${dirname(executable())}:${process.env.PATH}`;
  const env = { ...UNLIMITED, PATH };
  const server = await room.serve(["serve", "--port", `${port}`, ...hosts], { env });
  const browser = await openBrowser();
  const context = await browser.newContext();
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  const faults = watchPage(page);
  // The command knows the port of the settings only, and the server has chosen one.
  const { hash } = new URL((await room.perform(["console"])).stdout.trim());
  await page.goto(`${server.url}/console/${hash}`);
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
  return {
    ...{ room, server, browser, page, faults },
    async close() {
      await closePages(browser);
      await room.close();
    },
  };
}

/** Asks the server as the owner of the first key; throws what is refused. */
export async function askAsOwner<T = Record<string, string>>(
  server: Server,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const reply = await server.ask(method, path, { body });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
  return (text === "" ? null : JSON.parse(text)) as T;
}

/** Expects no serious fault of access and no horizontal scroll, in both themes at every size. */
export async function judgePage(page: Page): Promise<void> {
  for (const colorScheme of THEMES) {
    // A colour in transition has the contrast of neither theme.
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const width of SIZES) {
      await page.setViewportSize({ width, height: 900 });
      const wide = await page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth",
      );
      expect([colorScheme, width, wide]).toEqual([colorScheme, width, false]);
      if (!AXE_SIZES.has(width)) continue;
      const found = await findFaults(page);
      expect([colorScheme, width, ...found]).toEqual([colorScheme, width]);
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

/** Serious faults of access, each with its elements. */
export async function findFaults(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  // Details of the rules that hold would take half the time.
  return page.evaluate(`axe.run({ resultTypes: ["violations"] }).then(({ violations }) =>
    violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")))`);
}

/** Bound of waits for a page that never becomes as expected, on a busy machine. */
const SOON_MS = 60_000;

/**
 * Expects what a page shows once it has drawn: reads again until it matches. A read may fail while
 * an old part and its successor are both there.
 */
export function soon<Value>(read: () => Value | Promise<Value>) {
  const poll = async (check: (value: Value) => void) => {
    const end = performance.now() + SOON_MS;
    for (;;) {
      try {
        check(await read());
        return;
      } catch (difference) {
        if (performance.now() > end) throw difference;
      }
      // The browser's events arrive only while the event loop turns.
      await new Promise(setImmediate);
    }
  };
  return {
    toBe: (wanted: Value) => poll((value) => expect(value).toBe(wanted)),
    toBeTrue: () => poll((value) => expect(value).toBe(true as Value)),
    toContain: (part: string) => poll((value) => expect(String(value)).toContain(part)),
    toEndWith: (part: string) => poll((value) => expect(String(value)).toEndWith(part)),
    toEqual: (wanted: unknown) => poll((value) => expect(value as unknown).toEqual(wanted)),
    toMatch: (pattern: RegExp) => poll((value) => expect(String(value)).toMatch(pattern)),
  };
}
