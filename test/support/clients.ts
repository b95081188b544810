// The client packages, made from the document of the compiled program, for the tests of one file.
import { afterAll, beforeAll, expect } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { readDocument, writeClients } from "../../scripts/clients.ts";
import type { Ended, Room, RunOptions, Talker } from "./binary.ts";

const modules = join(import.meta.dir, "../../node_modules");
type Child = Bun.Subprocess<"pipe", "pipe", "pipe">;
export type Language = "typescript" | "python";

export interface ClientPackages {
  /** Runs a program beside the package of its language, and beside those of the AI SDK. */
  run(language: Language, text: string, args?: readonly string[]): Promise<Ended>;
  start(language: Language, text: string, stdin: string): Talker;
  /**
   * Starts a program that answers each line of its input with an object in JSON, and may print
   * other lines before; it ends with the file, and is to end well.
   */
  converse(language: Language, text: string): (line: string) => Promise<string>;
  /** Errors of the compiler in each TypeScript program; a start of it costs more than a program. */
  check(...texts: string[]): Promise<string[][]>;
  /** Folder of the package of a language. */
  folder(language: Language): string;
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
  const children: Child[] = [];
  afterAll(async () => {
    for (const { stdin, stderr, exited } of children) {
      stdin.end();
      expect([await exited, await stderr.text()]).toEqual([0, ""]);
    }
    rmSync(folder, { recursive: true });
  });
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
    start: (language, text, stdin) =>
      room().start([write(language, text)], { ...optionsOf(language), stdin }),
    converse(language, text) {
      const { command = [], env } = optionsOf(language);
      const child = Bun.spawn([...command, write(language, text)], {
        env: { PATH: process.env.PATH, HOME: folder, ...env },
        stdio: ["pipe", "pipe", "pipe"],
      });
      children.push(child);
      return converse(child);
    },
    async check(...texts) {
      const compiler = join(modules, "typescript/bin/tsc");
      const programs = texts.map((text) => write("typescript", text));
      const args = [compiler, ...OPTIONS, ...programs];
      const { stdout } = await room().run(args, { ...optionsOf("typescript"), cwd: folder });
      const errors = stdout.split("\n").filter((line) => line.includes("error TS"));
      return programs.map((file) => errors.filter((line) => line.startsWith(basename(file))));
    },
    folder: (language) => join(folder, language),
  });
}

/** Sends lines one after another, and resolves with the answer to each. */
function converse({ stdin, stdout }: Child): (line: string) => Promise<string> {
  const reader = stdout.pipeThrough(new TextDecoderStream()).getReader();
  return async (line) => {
    stdin.write(`${line}\n`);
    stdin.flush();
    for (let text = ""; ; ) {
      const answer = /^\{.*(?=\n)/m.exec(text);
      if (answer) return answer[0];
      const { done, value } = await reader.read();
      if (done) throw new Error(`the program ended at ${line}`);
      text += value;
    }
  };
}
