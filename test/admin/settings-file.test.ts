// Tests that a settings file is created once, and extended without other changes.
import { afterAll, beforeEach, describe, expect, spyOn, test } from "bun:test";
import * as files from "node:fs";
import {
  chmodSync,
  chownSync,
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
import { AdminError, addEmbeddings, addModel, createSettingsFile } from "../../src/admin/index.ts";
import { readSettings, SettingsError, writeTemplate } from "../../src/settings/index.ts";

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

  test("never overwrites, not even an empty file or a link", () => {
    writeFileSync(file, "");
    expect(() => createSettingsFile(file)).toThrow("is there already, and is not overwritten");
    expect(read()).toBe("");
    const link = `${file}.link`;
    symlinkSync("nowhere.toml", link);
    expect(() => createSettingsFile(link)).toThrow(AdminError);
    expect(list().sort()).toEqual(["wadi.toml", "wadi.toml.link"]);
  });

  test("reports a missing directory", () => {
    const lost = join(file, "..", "lost", "wadi.toml");
    expect(() => createSettingsFile(lost)).toThrow(`the directory of ${lost} does not exist`);
  });
});

describe("addModel", () => {
  const add = (block = BLOCK, env = {}) => addModel(file, "qwen", block, env);

  test("creates a missing file", () => {
    add();
    expect(read()).toBe(BLOCK);
  });

  test("appends to the file, and keeps its content and permissions", () => {
    const text = "# Mine.\n[server]\nport = 9000\n[limits] # and no end of line";
    writeFileSync(file, text);
    chmodSync(file, 0o2640);
    add();
    expect(read()).toBe(`${text}\n\n${BLOCK}`);
    expect(statSync(file).mode & 0o7777).toBe(0o2640);
    expect(list()).toEqual(["wadi.toml"]);
  });

  test("writes a file that is on the disk, with its permissions, before it has its name", () => {
    const { fsyncSync, linkSync, renameSync } = files;
    const done: string[] = [];
    using _ = spyOn(files, "fsyncSync").mockImplementation((descriptor) => {
      done.push("sync");
      fsyncSync(descriptor);
    });
    using __ = spyOn(files, "linkSync").mockImplementation((from, to) => {
      done.push("link");
      linkSync(from, to);
    });
    using ___ = spyOn(files, "renameSync").mockImplementation((from, to) => {
      done.push(`rename ${(statSync(from).mode & 0o777).toString(8)}`);
      renameSync(from, to);
    });
    createSettingsFile(file);
    chmodSync(file, 0o640);
    add();
    expect(done).toEqual(["sync", "link", "sync", "rename 640"]);
  });

  test("leaves a file as it is that an editor changes meanwhile", () => {
    writeFileSync(file, "# Mine.\n");
    const { readFileSync: readFile } = files;
    let reads = 0;
    using _ = spyOn(files, "readFileSync").mockImplementation(((
      ...asked: Parameters<typeof readFile>
    ) => {
      if (asked[0] === file && ++reads === 2) writeFileSync(file, "# Edited.\n");
      return readFile(...asked);
    }) as typeof readFile);
    expect(() => add()).toThrow("was changed meanwhile: try again");
    expect([readFile(file, "utf8"), list()]).toEqual(["# Edited.\n", ["wadi.toml"]]);
  });

  test.skipIf(process.getuid?.() !== 0)("leaves the file to its owner and its group", () => {
    writeFileSync(file, "");
    for (const [uid, gid] of [
      [0, 65_533],
      [65_534, 0],
    ] as const) {
      chownSync(file, uid, gid);
      addModel(file, `m-${gid}`, BLOCK.replace("qwen", `m-${gid}`), {});
      expect([statSync(file).uid, statSync(file).gid]).toEqual([uid, gid]);
    }
  });

  test("adds to the file that `wadi init` wrote", () => {
    createSettingsFile(file);
    add();
    expect(read()).toBe(`${writeTemplate()}\n${BLOCK}`);
  });

  test("follows a link, and keeps the link", () => {
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

  test("applies the environment as a start does", () => {
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

  test("keeps every existing byte, and refuses a file that is no text", () => {
    const text = "\ufeff# Größe\r\n[server]\r\n";
    writeFileSync(file, text);
    add();
    expect(read()).toBe(`${text}\n${BLOCK}`);
    const bytes = Buffer.from([0x23, 0xff, 0x0a]);
    writeFileSync(file, bytes);
    expect(() => add()).toThrow("is not UTF-8 text");
    expect(readFileSync(file)).toEqual(bytes);
  });

  test("refuses the second of two concurrent additions, which undoes nothing", () => {
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

  test("keeps what an editor saved meanwhile", () => {
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

  test("refuses what is not a file", () => {
    mkdirSync(file);
    expect(() => add()).toThrow("is no file");
  });
});

describe("addEmbeddings", () => {
  const SET = 'kind = "tei"\nurls = ["http://10.0.0.7:8080"]\n';
  const TABLE = `# TEI 1.8.2\n[embeddings]\n${SET}`;
  const add = () => addEmbeddings(file, TABLE, {});

  test("creates a missing file, and appends to one without embeddings", () => {
    add();
    expect(read()).toBe(TABLE);
    const text = "[limits]\nrequests_per_minute = 7";
    writeFileSync(file, text);
    add();
    expect(read()).toBe(`${text}\n\n${TABLE}`);
  });

  test("fills the empty table of the file that `wadi init` wrote", () => {
    createSettingsFile(file);
    add();
    const header = "\n[embeddings]\n";
    expect(read()).toBe(writeTemplate().replace(header, `${header}# TEI 1.8.2\n${SET}`));
    const { embeddings } = readSettings(read(), "wadi.toml", {}, {});
    expect(embeddings).toMatchObject({ kind: "tei", urls: ["http://10.0.0.7:8080"] });
    addModel(file, "qwen", BLOCK, {});
    expect(() => add()).toThrow("says something of [embeddings] already");
  });

  test("keeps every byte around the filled table", () => {
    const around = ["\ufeff# Größe\r\n [ embeddings ] # ours\r\n", "# 末\r\n[search]\r\n"];
    writeFileSync(file, around.join(""));
    add();
    expect(read()).toBe(around.join(`# TEI 1.8.2\n${SET}`));
    writeFileSync(file, "[embeddings]");
    add();
    expect(read()).toBe(`[embeddings]\n# TEI 1.8.2\n${SET}`);
  });

  for (const [title, text, line] of [
    ["a table with a setting", '# One.\n[embeddings]\nkind = "off"\n', 2],
    ["a table inside it", '[embeddings.headers]\nx = "1"\n', 1],
    ["a table on one line", "embeddings = {}\n", 1],
    ["a dotted setting", 'embeddings.kind = "off"\n', 1],
  ] as const) {
    test(`refuses ${title}, with its line, and writes nothing`, () => {
      writeFileSync(file, text);
      const says = `${file}:${line}: it says something of [embeddings] already: change it there`;
      expect(() => add()).toThrow(says);
      expect([read(), list()]).toEqual([text, ["wadi.toml"]]);
    });
  }

  test("writes nothing invalid", () => {
    writeFileSync(file, "");
    const broken = TABLE.replace('"tei"', '"none"');
    expect(() => addEmbeddings(file, broken, {})).toThrow("nothing was written, since it would");
    expect([read(), list()]).toEqual(["", ["wadi.toml"]]);
  });
});
