// Places where a test build kills or hangs itself; no release has them.

declare const WADI_FAIL_POINTS: boolean;
const isTestBuild = typeof WADI_FAIL_POINTS !== "undefined" && WADI_FAIL_POINTS;

/** A variable of the environment that only a test build reads. */
export function readTestVariable(name: string): string | undefined {
  return isTestBuild ? process.env[name] : undefined;
}

/** `WADI_FAIL_POINT=keys.create:after` dies at the first pass, `…:after#3` at the third. */
let armed: { name: string; passes_left: number } | null = null;
const [name, passes = "1"] = (readTestVariable("WADI_FAIL_POINT") ?? "").split("#");
if (name) armed = { name, passes_left: Number(passes) };

/** Dies as by `kill -9` when this point is the armed one. */
export function reachFailPoint(name: string): void {
  if (!isTestBuild || armed?.name !== name) return;
  armed.passes_left -= 1;
  if (armed.passes_left === 0) process.kill(process.pid, "SIGKILL");
}

/**
 * `WADI_POISON=kill:tool:TEXT` dies at a tool whose arguments hold TEXT; `hang:` never returns, and
 * `throw:` throws.
 */
const [effect, place, text = ""] = (readTestVariable("WADI_POISON") ?? "").split(":");

/** What a run works on, where the armed poison may be in it. */
export function reachPoison(at: "model" | "reply" | "tool", value: unknown): void {
  if (!isTestBuild || at !== place || !JSON.stringify(value).includes(text)) return;
  if (effect === "kill") process.kill(process.pid, "SIGKILL");
  if (effect === "throw") throw new Error("poison");
  while (effect === "hang");
}
