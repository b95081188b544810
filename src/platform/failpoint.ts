// Places where a test build kills or hangs itself; release builds have none.
import { readFileSync } from "node:fs";

/** A function does what a test wants in place of the kill. */
declare const WADI_FAIL_POINTS: boolean | ((name: string) => void);
const isTestBuild = typeof WADI_FAIL_POINTS !== "undefined" && WADI_FAIL_POINTS !== false;

export function readTestVariable(name: string): string | undefined {
  return isTestBuild ? process.env[name] : undefined;
}

/**
 * `WADI_FAIL_POINT=keys.create:after` dies at the first pass, `…:after#3` at the third;
 * `…:after#3=stop` is frozen there instead, until it is continued from outside. `@FILE` names a
 * file that holds one, which a test writes again while the process lives.
 */
const setting = readTestVariable("WADI_FAIL_POINT") ?? "";
let read = "";
let armed = { name: "", passesLeft: 0, signal: "SIGKILL" as NodeJS.Signals };

function arm(text: string): void {
  if (text === read) return;
  read = text;
  const [point = "", act] = text.split("=");
  const [name = "", passes = "1"] = point.split("#");
  armed = { name, passesLeft: Number(passes), signal: act === "stop" ? "SIGSTOP" : "SIGKILL" };
}

export function reachFailPoint(name: string): void {
  if (!isTestBuild) return;
  if (typeof WADI_FAIL_POINTS === "function") WADI_FAIL_POINTS(name);
  arm(setting.startsWith("@") ? readFileSync(setting.slice(1), "utf8") : setting);
  if (armed.name !== name) return;
  armed.passesLeft -= 1;
  if (armed.passesLeft === 0) process.kill(process.pid, armed.signal);
}

/** `WADI_POISON=kill:tool:TEXT` dies at a tool whose arguments hold TEXT; also `hang`, `throw`. */
const [effect, place, text = ""] = (readTestVariable("WADI_POISON") ?? "").split(":");

export function reachPoison(at: "model" | "reply" | "tool", value: unknown): void {
  if (!isTestBuild || at !== place || !JSON.stringify(value).includes(text)) return;
  if (effect === "kill") process.kill(process.pid, "SIGKILL");
  if (effect === "throw") throw new Error("poison");
  // Blocks the event loop like endless work, and leaves the core to others.
  if (effect === "hang") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
