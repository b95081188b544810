// The program of before the newest migration beside the one of now, on one database.
import { rmSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { makeScratch, runWadi } from "../bench/stage.ts";
import { compile, executable, isStale } from "../build.ts";
import { checkProcesses } from "./process-check.ts";
import { openProcessStage, until } from "./process-stage.ts";
import { createFacts, isQuiet, PAY } from "./process-trial.ts";
import { atLeast, atMost, type Proof } from "./proof.ts";

const ROOT = dirname(dirname(import.meta.dir));
const MIGRATIONS = "src/database/migrations";
const RUNS = 200;
const AT_ONCE = 8;
const SHARE_MIN = 20;

const git = (...words: string[]) => runWadi(["git", "-C", ROOT, ...words]);

/** Builds the commit before the one that has added the newest migration. */
const buildOld = async (folder: string): Promise<{ program: string; migration: string }> => {
  const files = `${MIGRATIONS}/0*.ts`;
  const text = await git("log", "-1", "--diff-filter=A", "--format=%H", "--name-only", "--", files);
  const [added, ...names] = text.split("\n").filter(Boolean);
  await git("worktree", "add", "--detach", folder, `${added}^`);
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await runWadi([process.execPath, join(folder, "scripts/build.ts")]);
  return { program: join(folder, "dist", basename(executable())), migration: names.join(", ") };
};

export const versions: Proof = {
  name: "versions",
  about: "an older program and this one serve the same runs, calls, fires and deliveries",
  async run() {
    const postgres = process.env.WADI_TEST_POSTGRES;
    if (!postgres) throw new Error("WADI_TEST_POSTGRES names no server of PostgreSQL");
    if (isStale()) await compile();
    const folder = join(makeScratch(), "old");
    const facts = createFacts();
    try {
      const { program, migration } = await buildOld(folder);
      process.stderr.write(`versions: the program of before ${migration}\n`);
      const stage = await openProcessStage({ postgres, program });
      const { survivor, agents, count } = stage;
      try {
        const fresh = await stage.serve("", { program: executable() });
        const servers = [survivor, fresh];
        let next = 0;
        const start = async () => {
          for (let n = next++; n < RUNS; n = next++) {
            const path = `/v1/agents/${agents.payer}/runs`;
            const body = { input: { message: PAY } };
            const answer = await servers[n % 2]!.ask("POST", path, body);
            if (answer?.status === 202) facts.accepted.add(JSON.parse(answer.text).id);
          }
        };
        const held = new Map<string, Set<string>>();
        let isOver = false;
        const look = async () => {
          while (!isOver) {
            const rows = await stage.sql`SELECT runs.id, processes.pid FROM runs
              JOIN processes ON processes.epoch = runs.epoch WHERE runs.epoch > 0`;
            for (const { id, pid } of rows) {
              held.set(String(pid), (held.get(String(pid)) ?? new Set()).add(id));
            }
            await Bun.sleep(20);
          }
        };
        const looking = look();
        await Promise.all(Array.from({ length: AT_ONCE }, start));
        await until("all is done", () => isQuiet(stage));
        isOver = true;
        await looking;
        const found = await checkProcesses(stage, facts);
        const shareOf = ({ child }: typeof fresh) => held.get(String(child.pid))?.size ?? 0;
        return [
          atLeast("runs accepted", facts.accepted.size, RUNS),
          atLeast("runs seen at the older program", shareOf(survivor), SHARE_MIN),
          atLeast("runs seen at the newer program", shareOf(fresh), SHARE_MIN),
          atMost("processes declared dead", await count("processes WHERE ended_at > 0"), 0),
          ...Object.entries(found).map(([law, times]) => atMost(law, times, 0)),
        ];
      } finally {
        await stage.close();
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
      await git("worktree", "prune");
    }
  },
};
