// Kills the program at every point of the crash matrix, and draws every round of the random tests.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { compile, isStale } from "../build.ts";
import { atLeast, atMost, type Proof } from "./proof.ts";

const ROOT = dirname(dirname(import.meta.dir));
const TIMEOUT_MS = 600_000;
const TESTS_MIN = 200;

export const crash: Proof = {
  name: "crash",
  about: "kill -9 at every write that a test reaches, and all rounds of what is drawn",
  async run() {
    if (isStale({ failPoints: true })) await compile({ failPoints: true });
    const scratch = mkdtempSync(join(tmpdir(), "wadi-prove-"));
    const report = join(scratch, "report.xml");
    try {
      const flags = [`--timeout=${TIMEOUT_MS}`, "--reporter=junit", `--reporter-outfile=${report}`];
      const child = Bun.spawn([process.execPath, "test", ...flags, ...listFiles()], {
        cwd: ROOT,
        env: { ...process.env, ROUNDS: "1" },
        stdio: ["ignore", "ignore", "inherit"],
      });
      const code = await child.exited;
      const total = /<testsuites [^>]*>/.exec(await Bun.file(report).text())?.[0] ?? "";
      const read = (name: string) => Number(new RegExp(` ${name}="(\\d+)"`).exec(total)?.[1]);
      return [
        atLeast("tests", read("tests"), TESTS_MIN),
        atMost("tests that failed", read("failures"), 0),
        atMost("exit code", code, 0),
      ];
    } finally {
      rmSync(scratch, { recursive: true });
    }
  },
};

/** Test files that run a share of their cases by default. */
const listFiles = (): string[] =>
  [...new Bun.Glob("test/**/*.test.ts").scanSync({ cwd: ROOT })]
    .filter((file) => readFileSync(join(ROOT, file), "utf8").includes('support/rounds.ts"'))
    .map((file) => `./${file}`);
