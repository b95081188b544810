// Every way out of the program against every way in which a connection can fail.
import { buildWadi, launch } from "../bench/stage.ts";
import { atLeast, atMost, type Finding } from "./proof.ts";

/** One trial: a path, a failure, and the outcome. */
export interface Tried {
  path: string;
  failure: string;
  /** The caller's result, or the run's record. */
  outcome: string;
  isRight: boolean;
}

export interface PathsResult {
  tried: Tried[];
  /** Failures after which the process was another one, or served nothing more. */
  ended: string[];
}

const PATHS = 12;
const FAILURES = 7;

/**
 * In a network of its own, where one can be had: only there an address can have no route without
 * that anything could leave the machine.
 */
export const provePaths = async (): Promise<Finding[]> => {
  const program = await buildWadi();
  const script = Bun.fileURLToPath(new URL("./outside-stage.ts", import.meta.url));
  const stage = [process.execPath, script, program];
  const apart = ["unshare", "--map-root-user", "--net", "sh", "-c"];
  const alone = [...apart, 'ip link set lo up && exec "$0" "$@"', ...stage, "alone"];
  const isApart = Bun.spawnSync([...apart, "ip link set lo up"]).success;
  const child = launch(isApart ? alone : stage);
  const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  if (code !== 0) throw new Error(`the stage ended with ${code}: ${child.complaint()}`);
  const { tried, ended }: PathsResult = JSON.parse(text);
  const paths = Map.groupBy(tried, ({ path }) => path);
  for (const { path, failure, outcome, isRight } of tried) {
    if (!isRight) console.error(`outside: ${path}, ${failure}: ${outcome}`);
  }
  return [
    ...[...paths].map(([path, all]) => {
      const right = all.filter(({ isRight }) => isRight);
      return atLeast(`${path}: failures reported correctly, its slot free`, right.length, FAILURES);
    }),
    atLeast("ways out", paths.size, PATHS),
    atMost("failures that ended the process", ended.length, 0),
  ];
};
