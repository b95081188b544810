// A real browser for the console's tests, where the machine has one.
import type { Browser, Page } from "playwright-core";

const NAMES = ["chromium-headless-shell", "chromium", "google-chrome"];
const executablePath = NAMES.map((name) => Bun.which(name)).find((path) => path !== null);

export const hasBrowser = executablePath !== undefined;

/** One for all test files of a process; each closes its contexts. */
let opened: Promise<Browser> | undefined;

export async function openBrowser(): Promise<Browser> {
  const open = opened && (await opened);
  if (open?.isConnected()) return open;
  opened = launch();
  return opened;
}

async function launch(): Promise<Browser> {
  const { chromium } = await import("playwright-core");
  // Its sandbox needs rights that containers lack; it opens the tests' own pages only.
  const args = ["--no-sandbox"];
  // Listeners for signals would stay in the process, where tests count them.
  const quiet = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  return chromium.launch({ executablePath: executablePath!, args, ...quiet });
}

/** Closes what a test file has opened; the browser ends with the process. */
export async function closePages(browser: Browser | undefined): Promise<void> {
  await Promise.all((browser?.contexts() ?? []).map((context) => context.close()));
}

/** Notes errors of the page, and requests that leave this machine. */
export function watchPage(page: Page): string[] {
  const faults: string[] = [];
  page.on("pageerror", ({ message }) => faults.push(`error: ${message}`));
  page.on("console", (line) => {
    if (line.type() === "error") faults.push(`console: ${line.text()}`);
  });
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol !== "data:" && hostname !== "127.0.0.1") faults.push(`leaves: ${request.url()}`);
  });
  return faults;
}
