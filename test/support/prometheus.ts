// The programs of Debian's package `prometheus`: below WADI_TEST_PROMETHEUS, or on the path.
import { existsSync } from "node:fs";
import { join } from "node:path";

function find(program: string): string | null {
  const directory = process.env.WADI_TEST_PROMETHEUS;
  if (directory === undefined) return Bun.which(program);
  const file = join(directory, program);
  return existsSync(file) ? file : null;
}

export const promtool = find("promtool");
export const prometheus = find("prometheus");

if (!promtool) console.log("promtool is not there: what it would judge is not tried.");
if (!prometheus) console.log("prometheus is not there: its scrapes are not tried.");

export async function judge(args: readonly string[], stdin = "") {
  const child = Bun.spawn([promtool!, ...args], {
    stdin: new Blob([stdin]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, problem] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, says: out + problem };
}
