// A settings file is made once, and added to without touching what stands in it.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addModel, createSettingsFile, OperatorProblem } from "../../src/operator/index.ts";
import { SettingsError, writeTemplate } from "../../src/platform/settings/index.ts";

const place = mkdtempSync(join(tmpdir(), "wadi-settings-"));
afterAll(() => rmSync(place, { recursive: true }));
let file: string;
let made = 0;
beforeEach(() => {
  const directory = join(place, String(++made));
  mkdirSync(directory);
  file = join(directory, "wadi.toml");
});

const BLOCK = `[[models]]
id = "qwen"
upstream = { kind = "openai", urls = ["http://10.0.0.5:8000/v1"], api_key_env = "QWEN_KEY" }
`;
const read = () => readFileSync(file, "utf8");
const list = () => readdirSync(join(file, ".."));

describe("createSettingsFile", () => {
  test("writes the template, for its owner only", () => {
    createSettingsFile(file);
    expect(read()).toBe(writeTemplate());
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(list()).toEqual(["wadi.toml"]);
  });

  test("never overwrites, not even what an empty file or a link says", () => {
    writeFileSync(file, "");
    expect(() => createSettingsFile(file)).toThrow("is there already, and is not overwritten");
    expect(read()).toBe("");
    const link = `${file}.link`;
    symlinkSync("nowhere.toml", link);
    expect(() => createSettingsFile(link)).toThrow(OperatorProblem);
    expect(list().sort()).toEqual(["wadi.toml", "wadi.toml.link"]);
  });

  test("says where there is no such directory", () => {
    const lost = join(file, "..", "lost", "wadi.toml");
    expect(() => createSettingsFile(lost)).toThrow(`the directory of ${lost} does not exist`);
  });
});

describe("addModel", () => {
  const add = (block = BLOCK, env = {}) => addModel(file, "qwen", block, env);

  test("begins a file where there is none", () => {
    add();
    expect(read()).toBe(BLOCK);
  });

  test("adds behind what stands there, keeping it and who may read it", () => {
    const text = "# Mine.\n[server]\nport = 9000\n[limits] # and no end of line";
    writeFileSync(file, text);
    chmodSync(file, 0o640);
    add();
    expect(read()).toBe(`${text}\n\n${BLOCK}`);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(list()).toEqual(["wadi.toml"]);
  });

  test("adds to the file that `wadi init` wrote", () => {
    createSettingsFile(file);
    add();
    expect(read()).toBe(`${writeTemplate()}\n${BLOCK}`);
  });

  test("adds where a link leads, and leaves the link", () => {
    const real = `${file}.real`;
    writeFileSync(real, "");
    symlinkSync(real, file);
    add();
    expect([readFileSync(real, "utf8"), list().sort()]).toEqual([
      BLOCK,
      ["wadi.toml", "wadi.toml.real"],
    ]);
    expect(readFileSync(file, "utf8")).toBe(BLOCK);
  });

  test("believes the environment as a start does", () => {
    writeFileSync(file, '[server]\ndatabase_env = "PG"\n');
    expect(() => add()).toThrow(SettingsError);
    add(BLOCK, { PG: "postgres://h/d" });
    expect(read()).toEndWith(BLOCK);
  });

  const refused: [title: string, before: string, block: string, says: string][] = [
    ["an id that is there", BLOCK, BLOCK, 'has a model "qwen" already'],
    ["a file that does not hold", "port = 1", BLOCK, "unknown setting"],
    ["a list of models in another form", "models = []", BLOCK, "must not be empty"],
    ["what would not hold", "", '[[models]]\nid = "qwen"\n', "nothing was written"],
    ["the alias for an id", "", BLOCK.replace("qwen", "svc"), "nothing was written"],
  ];
  for (const [title, before, block, says] of refused) {
    test(`refuses ${title}, and writes nothing`, () => {
      writeFileSync(file, before);
      expect(() => add(block)).toThrow(says);
      expect([read(), list()]).toEqual([before, ["wadi.toml"]]);
    });
  }

  test("keeps every byte that stands there, and refuses what is no text", () => {
    const text = "\ufeff# Größe\r\n[server]\r\n";
    writeFileSync(file, text);
    add();
    expect(read()).toBe(`${text}\n${BLOCK}`);
    const bytes = Buffer.from([0x23, 0xff, 0x0a]);
    writeFileSync(file, bytes);
    expect(() => add()).toThrow("is not UTF-8 text");
    expect(readFileSync(file)).toEqual(bytes);
  });

  test("of two that add at once, the second one is refused and undoes nothing", () => {
    writeFileSync(file, "");
    let says = "";
    // The environment is read between the old text and the new one.
    const env = {
      get WADI_SERVER__PORT() {
        if (says !== "") return "1";
        says = "none";
        try {
          add(BLOCK.replace("qwen", "llama"));
        } catch (failure) {
          says = (failure as Error).message;
        }
        return "1";
      },
    };
    add(BLOCK, env);
    expect(says).toContain("another program is writing");
    expect([read(), list()]).toEqual([BLOCK, ["wadi.toml"]]);
  });

  test("what an editor saved meanwhile stays", () => {
    writeFileSync(file, "");
    const env = {
      get WADI_SERVER__PORT() {
        writeFileSync(file, "# Saved.\n");
        return "1";
      },
    };
    expect(() => add(BLOCK, env)).toThrow("was changed meanwhile");
    expect([read(), list()]).toEqual(["# Saved.\n", ["wadi.toml"]]);
  });

  test("refuses what is no file", () => {
    mkdirSync(file);
    expect(() => add()).toThrow("is no file");
  });
});
