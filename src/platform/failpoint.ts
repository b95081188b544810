// Places where a test build kills itself, named after the store writes; no release has them.

declare const WADI_FAIL_POINTS: boolean;
const isTestBuild = typeof WADI_FAIL_POINTS !== "undefined" && WADI_FAIL_POINTS;

/** `WADI_FAIL_POINT=keys.create:after` dies at the first pass, `…:after#3` at the third. */
let armed: { name: string; passes_left: number } | null = null;
if (isTestBuild) {
  const [name, passes = "1"] = (process.env.WADI_FAIL_POINT ?? "").split("#");
  if (name) armed = { name, passes_left: Number(passes) };
}

/** Dies as by `kill -9` when this point is the armed one. */
export function reachFailPoint(name: string): void {
  if (!isTestBuild || armed?.name !== name) return;
  armed.passes_left -= 1;
  if (armed.passes_left === 0) process.kill(process.pid, "SIGKILL");
}
