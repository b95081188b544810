// The black-box tests of the specs once more on each engine that keeps its data.
import { expect, test } from "bun:test";
import { dirname } from "node:path";
import { bundle } from "./support/bundle.ts";

const ENGINES = { sqlite: true, postgres: Boolean(process.env.WADI_TEST_POSTGRES) };
const TIMEOUT_MS = 600_000;
/** Each app on SQLite starts one. */
const [WRITER] = await bundle(new URL("../src/writer-worker.ts", import.meta.url));

for (const [engine, isReachable] of Object.entries(ENGINES)) {
  test.skipIf(!isReachable)(
    `everything in test/spec holds on ${engine}`,
    async () => {
      const child = Bun.spawn([process.execPath, "test", "--timeout=30000", "./test/spec"], {
        cwd: dirname(import.meta.dir),
        env: { ...process.env, WADI_TEST_PLACE: engine, WADI_TEST_WRITER: WRITER!.pathname },
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
