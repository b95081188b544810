// An installation of the proof's own, and servers on it that start or are refused.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Child, launch, makeScratch, readUntil } from "../bench/stage.ts";

const SETTINGS = `
[[models]]
id = "stub-1"
self_hosted = true
capabilities = ["streaming"]
upstream = { kind = "stub" }
`;

/** One installation in a directory of its own. */
export interface DataFixture {
  program: string;
  data: string;
  file: string;
  /** Flags that name it. */
  at: string[];
}

export const makeDataFixture = (program: string): DataFixture => {
  const directory = makeScratch();
  const config = join(directory, "wadi.toml");
  writeFileSync(config, SETTINGS);
  const data = join(directory, "data");
  return { program, data, file: join(data, "wadi.db"), at: ["--config", config, "--data", data] };
};

export interface Server extends Child {
  url: string;
}

export const serve = async ({ program, at }: DataFixture, ...flags: string[]): Promise<Server> => {
  const child = launch([program, "serve", "--port", "0", ...at, ...flags]);
  const url = await readUntil(child, /(http:\/\/127\.0\.0\.1:\d+)/);
  return { ...child, url, complaint: child.complaint };
};

/** Starts a server that must refuse to start; returns its output and whether it exited with 1. */
export const refuseToServe = async ({ program, at }: DataFixture): Promise<string | null> => {
  const child = launch([program, "serve", "--port", "0", ...at]);
  const code = await Promise.race([
    child.exited,
    readUntil(child, /(http:)/).then(
      () => 0,
      () => child.exited,
    ),
  ]);
  if (code === 0) child.kill("SIGKILL");
  await child.exited;
  return code === 1 ? child.complaint() : null;
};
