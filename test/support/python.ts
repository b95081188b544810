// Programs of Python, by the Python of WADI_TEST_PYTHON or the one on the path.
import { expect } from "bun:test";

export const PYTHON = process.env.WADI_TEST_PYTHON ?? "python3";
/** One with the libraries of agents, which need an older `mcp` than its own client's tests. */
export const AGENTS_PYTHON = process.env.WADI_TEST_AGENTS_PYTHON ?? PYTHON;

/** Tells whether the Python can do this, such as import a package; says so if it cannot. */
export function hasPython(args: readonly string[], missing: string, python = PYTHON): boolean {
  let isThere = false;
  try {
    const ignored = { stdout: "ignore", stderr: "ignore" } as const;
    isThere = Bun.spawnSync([python, ...args], ignored).success;
  } catch {
    // There is no Python at all.
  }
  if (!isThere) console.log(`${missing} is not there: not tried.`);
  return isThere;
}

/** Runs a program, which must end well and without warnings; returns what it prints. */
export async function runPython(
  program: string,
  args: readonly string[],
  python = PYTHON,
): Promise<string> {
  const child = Bun.spawn([python, program, ...args], { stdout: "pipe", stderr: "pipe" });
  const [out, problem] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  expect([await child.exited, problem]).toEqual([0, ""]);
  return out;
}
