// The black-box tests of the specs once more on each engine that keeps its data. They take as long
// as everything else, so that only WADI_TEST_ENGINES starts them, which .ci/run sets.
import { describe, expect, test } from "bun:test";
import { dirname } from "node:path";
import { bundle } from "./support/bundle.ts";

const IS_ASKED = Boolean(process.env.WADI_TEST_ENGINES);
const ENGINES = ["sqlite", ...(process.env.WADI_TEST_POSTGRES ? ["postgres"] : [])];
const TIMEOUT_MS = 1_200_000;
/** Each app on SQLite starts one. */
const WRITER = new URL("../src/writer-worker.ts", import.meta.url);
const [writer] = IS_ASKED ? await bundle(WRITER) : [];

/** Both at once: one waits for its server while the other computes. */
describe.skipIf(!IS_ASKED).concurrent("the spec suite", () => {
  test.each(ENGINES)(
    "holds on %s",
    async (engine) => {
      const child = Bun.spawn([process.execPath, "test", "--timeout=120000", "./test/spec"], {
        cwd: dirname(import.meta.dir),
        env: { ...process.env, WADI_TEST_PLACE: engine, WADI_TEST_WRITER: writer!.pathname },
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
});
