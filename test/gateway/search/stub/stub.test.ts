// Tests the built-in search engine: its own pages, and a folder that changes or vanishes.
import { afterAll, expect, test } from "bun:test";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { EngineQuery, SearchEngine } from "../../../../src/gateway/search/contract.ts";
import { chooseResults } from "../../../../src/gateway/search/results.ts";
import { listFiles, readText } from "../../../../src/gateway/search/stub/folder.ts";
import { createStubSearch } from "../../../../src/gateway/search/stub/stub.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { createManualClock } from "../../../support/clock.ts";

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

const makeFolder = async (files: Record<string, string>): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "wadi-search-"));
  folders.push(folder);
  await write(folder, files);
  return folder;
};

const write = async (folder: string, files: Record<string, string>) => {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
};

const open = (folder: string) => {
  const clock = createManualClock();
  const lines: Record<string, unknown>[] = [];
  const log = createLog(clock, (line) => lines.push(JSON.parse(line)), false);
  return { engine: createStubSearch({ folder, timeout_ms: 15_000, clock, log }), clock, lines };
};

const ask = (query: string, more: Partial<EngineQuery> = {}): EngineQuery => ({
  request_id: "r",
  trace: null,
  account: "a",
  query,
  max_results: 5,
  language: null,
  ...more,
});

const never = new AbortController().signal;

const find = async (engine: SearchEngine, query: string, more: Partial<EngineQuery> = {}) => {
  const found = await engine.search(ask(query, more), never);
  if (!found.ok) throw new Error(found.code);
  return found.hits;
};

const findTitles = async (engine: SearchEngine, query: string, more: Partial<EngineQuery> = {}) =>
  (await find(engine, query, more)).map(({ title }) => title);

test("without a folder the stub has pages about the service, with example links", async () => {
  const { engine, lines } = open("");
  engine.start();
  const [first] = await find(engine, "dimensions of embedding vectors");
  expect(first?.title).toBe("Embeddings");
  expect(first?.url).toBe("https://search.example/embeddings");
  expect(first?.snippet).toContain("vectors of 1024 dimensions");
  for (const [query, title] of Object.entries({
    "stream a reply in pieces": "Streaming replies",
    "rate limit of an account": "Rate limits and quotas",
    "which errors may be tried again": "Errors and when to retry",
    "deep thinking": "Deep thinking",
    "function calls": "Tools and function calls",
    "web search": "Web search",
    "list of models": "Models and the alias svc",
  })) {
    expect((await findTitles(engine, query))[0]).toBe(title);
  }
  expect(await find(engine, "zebra")).toEqual([]);
  expect(engine.isDown()).toBe(false);
  expect(lines).toEqual([]);
  engine.stop();
});

test("files are found in nested folders, except hidden ones and other extensions", async () => {
  const folder = await makeFolder({
    "one.md": "# One\n\nzebra",
    "deep/er/two.markdown": "# Two\n\nzebra",
    "THREE.MD": "zebra",
    ".hidden/four.md": "# Four\n\nzebra",
    ".five.md": "# Five\n\nzebra",
    "six.txt": "# Six\n\nzebra",
  });
  const { engine } = open(folder);
  engine.start();
  expect((await findTitles(engine, "zebra")).toSorted()).toEqual(["One", "THREE", "Two"]);
  engine.stop();
});

test("a link is followed only to a file inside the folder", async () => {
  const outside = await makeFolder({ "secret.md": "# Secret\n\nzebra" });
  const folder = await makeFolder({ ".data/page.md": "# Page\n\nzebra" });
  await symlink(".data/page.md", join(folder, "page.md"));
  await symlink(join(outside, "secret.md"), join(folder, "secret.md"));
  await symlink(outside, join(folder, "outside"));
  await write(`${folder}-next`, { "near.md": "# Near\n\nzebra" });
  folders.push(`${folder}-next`);
  await symlink(`${folder}-next/near.md`, join(folder, "near.md"));
  await symlink(folder, join(folder, "circle"));
  await symlink("nowhere.md", join(folder, "dangling.md"));
  const { engine } = open(folder);
  engine.start();
  expect(await findTitles(engine, "zebra")).toEqual(["Page"]);
  engine.stop();
});

test("a page's link is its own or made from its path; its name is its last title", async () => {
  const folder = await makeFolder({
    "said.md": "---\ntitle: Said\nurl: https://docs.example/said\n---\nzebra",
    "unsafe.md": "---\ntitle: Unsafe\nurl: javascript:alert(1)\n---\nzebra",
    "Größe & Maß/100 %.md": "zebra",
  });
  const { engine } = open(folder);
  engine.start();
  const hits = await find(engine, "zebra");
  expect(Object.fromEntries(hits.map(({ title, url }) => [title, url]))).toEqual({
    Said: "https://docs.example/said",
    Unsafe: "https://search.example/unsafe",
    "100 %": "https://search.example/Gr%C3%B6%C3%9Fe%20%26%20Ma%C3%9F/100%20%25",
  });
  engine.stop();
});

test("a page in another language than the requested one is excluded", async () => {
  const folder = await makeFolder({
    "en.md": "---\nlang: en-GB\n---\nzebra",
    "fr.md": "---\nlang: fr\n---\nzebra",
    "any.md": "zebra",
  });
  const { engine } = open(folder);
  engine.start();
  const titles = await findTitles(engine, "zebra", { language: "en" });
  expect(titles.toSorted()).toEqual(["any", "en"]);
  expect(await findTitles(engine, "zebra", { max_results: 2 })).toHaveLength(2);
  engine.stop();
});

test("too large a file is skipped, and logged once", async () => {
  const folder = await makeFolder({
    "large.md": `zebra ${"x ".repeat(600_000)}`,
    "small.md": "zebra",
  });
  const { engine, clock, lines } = open(folder);
  engine.start();
  expect(await findTitles(engine, "zebra")).toEqual(["small"]);
  await clock.advance(5_000);
  await find(engine, "zebra");
  expect(lines.map(({ level }) => level)).toEqual(["warn"]);
  engine.stop();
});

test("a file whose path is too long for a link is skipped, and logged", async () => {
  const names = Array.from({ length: 60 }, () => "عميق".repeat(4)).join("/");
  const folder = await makeFolder({ [`${names}/page.md`]: "zebra", "small.md": "zebra" });
  const { engine, lines } = open(folder);
  engine.start();
  expect(await findTitles(engine, "zebra")).toEqual(["small"]);
  expect(lines).toHaveLength(1);
  engine.stop();
});

test("tags in a page's text reach the caller, as in code", async () => {
  const folder = await makeFolder({
    "page.md": "# The &lt;button>\n\n```html\n<b>zebra</b> &amp; &lt;\n```\n",
  });
  const { engine } = open(folder);
  engine.start();
  const [result] = chooseResults(await find(engine, "zebra"), 1);
  expect(result?.title).toBe("The <button>");
  expect(result?.snippet).toBe("<b>zebra</b> &amp; &lt;");
  engine.stop();
});

test("a long page is found by its last words, and shows them", async () => {
  const folder = await makeFolder({ "long.md": `# Long\n\n${"sand ".repeat(150_000)}\n\nzebra` });
  const { engine } = open(folder);
  engine.start();
  const hits = await find(engine, "zebra sand");
  expect(hits).toHaveLength(1);
  expect(hits[0]?.snippet).toEndWith("zebra");
  engine.stop();
});

test("an unreadable folder fails every search, is logged once, and is read again", async () => {
  const folder = await makeFolder({});
  const later = join(folder, "later");
  const { engine, clock, lines } = open(later);
  engine.start();
  const failed = await engine.search(ask("zebra"), never);
  expect(failed).toMatchObject({ ok: false, code: "model_unavailable" });
  expect(engine.isDown()).toBe(true);
  expect((await engine.search(ask("zebra"), never)).ok).toBe(false);
  await clock.advance(5_000);
  expect((await engine.search(ask("zebra"), never)).ok).toBe(false);
  expect(lines).toMatchObject([{ level: "warn", code: "ENOENT" }]);
  expect(JSON.stringify(lines)).not.toContain("zebra");

  await write(later, { "page.md": "zebra" });
  await clock.advance(5_000);
  expect(await findTitles(engine, "zebra")).toEqual(["page"]);
  expect(engine.isDown()).toBe(false);
  engine.stop();
  expect(clock.pending()).toBe(0);
});

// Root may read everything.
test.skipIf(process.getuid?.() === 0)("a page that cannot be read hides no other", async () => {
  const folder = await makeFolder({ "a.md": "zebra", "b.md": "zebra", "c/d.md": "zebra" });
  await chmod(join(folder, "a.md"), 0);
  await chmod(join(folder, "c"), 0);
  const { engine, lines } = open(folder);
  engine.start();
  expect(await findTitles(engine, "zebra")).toEqual(["b"]);
  expect(lines).toHaveLength(1);
  await chmod(join(folder, "c"), 0o700);
  engine.stop();
});

test("a change is seen by the first search five seconds after the last scan", async () => {
  const folder = await makeFolder({ "stays.md": "zebra", "goes.md": "zebra", "turns.md": "zebra" });
  const { engine, clock } = open(folder);
  engine.start();
  expect(await findTitles(engine, "zebra")).toHaveLength(3);
  await rm(join(folder, "goes.md"));
  await write(folder, { "turns.md": "okapi and more", "new.md": "zebra" });
  expect(await findTitles(engine, "zebra")).toHaveLength(3);
  await clock.advance(5_000);
  expect((await findTitles(engine, "zebra")).toSorted()).toEqual(["new", "stays"]);
  expect(await findTitles(engine, "okapi")).toEqual(["turns"]);
  engine.stop();
});

test("a caller who leaves before the folder is read is not kept waiting", async () => {
  const { engine } = open(await makeFolder({ "page.md": "zebra" }));
  const leaving = new AbortController();
  const search = engine.search(ask("zebra"), leaving.signal);
  leaving.abort();
  expect(await search).toMatchObject({ ok: false, code: "client_closed_request" });
  const gone = open("").engine.search(ask("zebra"), leaving.signal);
  expect(await gone).toMatchObject({ ok: false, code: "client_closed_request" });
});

test("a stop ends the scan, unless a search waits for it", async () => {
  const files = Array.from({ length: 100 }, (_, at) => [`${at}.md`, `zebra ${at}`]);
  const folder = await makeFolder(Object.fromEntries(files));
  const kept = open(folder);
  kept.engine.start();
  const waiting = find(kept.engine, "zebra 99");
  kept.engine.stop();
  expect((await waiting)[0]?.title).toBe("99");

  const ended = open(folder);
  ended.engine.start();
  ended.engine.stop();
  // A request admitted before the stop reaches the engine after it.
  expect((await find(ended.engine, "zebra 99"))[0]?.title).toBe("99");
});

test("a search during a long first scan times out, and later ones succeed", async () => {
  const files = Array.from({ length: 500 }, (_, at) => [`${at}.md`, `zebra ${at}`]);
  const { engine, clock } = open(await makeFolder(Object.fromEntries(files)));
  engine.start();
  const search = engine.search(ask("zebra 99"), never);
  await clock.advance(15_000);
  expect(await search).toMatchObject({ ok: false, code: "upstream_timeout" });
  expect((await find(engine, "zebra 99"))[0]?.title).toBe("99");
  engine.stop();
});

test("a file replaced by a pipe or an outside link since the scan is not read", async () => {
  const folder = await makeFolder({
    "page.md": "zebra",
    "other.txt": "zebra",
    "turns.md": "zebra",
  });
  const { files } = await listFiles(folder);
  expect(await Promise.all(files.map(readText))).toEqual(["zebra", "zebra"]);
  await rm(join(folder, "page.md"));
  expect(Bun.spawnSync(["mkfifo", join(folder, "page.md")]).success).toBeTrue();
  await rm(join(folder, "turns.md"));
  await symlink("other.txt", join(folder, "turns.md"));
  expect(await Promise.all(files.map(readText))).toEqual([undefined, undefined]);
});

test("indexing 2,000 files does not block other work", async () => {
  const pages = Array.from({ length: 2_000 }, (_, at) => {
    const text = `# Page ${at}\n\n${`Sand and stone number ${at}. `.repeat(40)}`;
    return [`${at % 20}/page-${at}.md`, text];
  });
  const { engine } = open(await makeFolder(Object.fromEntries(pages)));
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  engine.start();
  const hits = await find(engine, "number 1234");
  isOver = true;
  expect(hits[0]?.title).toBe("Page 1234");
  // 2.2 million characters; a turn reads 32,768 and at most the rest of a file.
  expect(turns).toBeGreaterThan(60);
});
