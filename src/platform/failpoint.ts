// Places where a test build kills or hangs itself; release builds have none.

declare const WADI_FAIL_POINTS: boolean;
const isTestBuild = typeof WADI_FAIL_POINTS !== "undefined" && WADI_FAIL_POINTS;

export function readTestVariable(name: string): string | undefined {
  return isTestBuild ? process.env[name] : undefined;
}

/**
 * `WADI_FAIL_POINT=keys.create:after` dies at the first pass, `…:after#3` at the third;
 * `…:after#3=stop` is frozen there instead, until it is continued from outside.
 */
let armed: { name: string; passesLeft: number } | null = null;
const [point = "", act] = (readTestVariable("WADI_FAIL_POINT") ?? "").split("=");
const [name, passes = "1"] = point.split("#");
if (name) armed = { name, passesLeft: Number(passes) };

export function reachFailPoint(name: string): void {
  if (!isTestBuild || armed?.name !== name) return;
  armed.passesLeft -= 1;
  if (armed.passesLeft === 0) process.kill(process.pid, act === "stop" ? "SIGSTOP" : "SIGKILL");
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
