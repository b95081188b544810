// The client packages, made from the document of the compiled program, for the tests of one file.
import { afterAll, beforeAll } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readDocument, writeClients } from "../../scripts/clients.ts";
import type { Ended, Room, RunOptions, Talker } from "./binary.ts";

const modules = join(import.meta.dir, "../../node_modules");
export type Language = "typescript" | "python";

export interface ClientPackages {
  /** Runs a program beside the package of its language, and beside those of the AI SDK. */
  run(language: Language, text: string, args?: readonly string[]): Promise<Ended>;
  start(language: Language, text: string, args?: readonly string[]): Talker;
  /** Errors of the compiler in a TypeScript program. */
  check(text: string): Promise<string[]>;
}

const OPTIONS = [
  ...["--ignoreConfig", "--noEmit", "--strict", "--types", "bun-types", "--skipLibCheck"],
  ...["--target", "esnext", "--module", "esnext", "--moduleResolution", "bundler"],
  ...["--lib", "esnext,dom,dom.iterable,dom.asynciterable"],
];

/** Makes both packages; each test gets them from the function that is returned. */
export function registerClients(room: () => Room): () => ClientPackages {
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "wadi-clients-"));
    mkdirSync(join(folder, "node_modules/@wadi"), { recursive: true });
    for (const name of ["ai", "@ai-sdk", "bun-types"]) {
      symlinkSync(join(modules, name), join(folder, "node_modules", name));
    }
    await writeClients(folder, readDocument());
    symlinkSync(join(folder, "typescript"), join(folder, "node_modules/@wadi/client"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  let nth = 0;
  const write = (language: Language, text: string) => {
    const file = join(folder, `program-${nth++}.${language === "python" ? "py" : "ts"}`);
    writeFileSync(file, text);
    return file;
  };
  const optionsOf = (language: Language): RunOptions =>
    language === "python"
      ? { command: ["python3"], env: { PYTHONPATH: join(folder, "python") } }
      : { command: [process.execPath], env: { BUN_BE_BUN: "1" } };
  return () => ({
    run: (language, text, args = []) =>
      room().run([write(language, text), ...args], optionsOf(language)),
    start: (language, text, args = []) =>
      room().start([write(language, text), ...args], optionsOf(language)),
    async check(text) {
      const compiler = join(modules, "typescript/bin/tsc");
      const args = [compiler, ...OPTIONS, write("typescript", text)];
      const { stdout } = await room().run(args, { ...optionsOf("typescript"), cwd: folder });
      return stdout.split("\n").filter((line) => line.includes("error TS"));
    },
  });
}
