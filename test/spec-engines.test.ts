// The black-box tests of the specs once more on each engine that keeps its data.
import { expect, test } from "bun:test";
import { dirname } from "node:path";

const ENGINES = { sqlite: true, postgres: Boolean(process.env.WADI_TEST_POSTGRES) };
const TIMEOUT_MS = 300_000;

for (const [engine, isReachable] of Object.entries(ENGINES)) {
  test.skipIf(!isReachable)(
    `everything in test/spec holds on ${engine}`,
    async () => {
      const child = Bun.spawn([process.execPath, "test", "--timeout=30000", "./test/spec"], {
        cwd: dirname(import.meta.dir),
        env: { ...process.env, WADI_TEST_PLACE: engine },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const [, report] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      const failures = report.split("\n").filter((line) => line.startsWith("(fail)"));
      expect({ code: await child.exited, failures }).toEqual({ code: 0, failures: [] });
      const passed = Number(/^ *(\d+) pass$/m.exec(report)?.[1]);
      expect(passed).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
}
