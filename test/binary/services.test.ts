// Embeddings and search set up with the compiled program: probe, check, serve, and what it warns of.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRoom, type Room } from "../support/binary.ts";
import {
  type EmbeddingServer,
  llama,
  startEmbeddingServer,
  tei,
} from "../support/embedding-servers.ts";

let room: Room;
let server: EmbeddingServer;
beforeAll(() => {
  room = openRoom();
  server = startEmbeddingServer(tei());
});
afterAll(async () => {
  await room.close();
  await server.stop();
});

const run = (line: string) => room.perform(line.split(" "));
const write = (name: string, text: string) => writeFileSync(join(room.directory, name), text);
const check = async (name: string) => {
  const { code, stdout } = await run(`check --json --config ${name}`);
  const rows = JSON.parse(stdout) as { what: string; status: string; says: string }[];
  const of = (what: string) => rows.filter((row) => row.what === what);
  return { code, embeddings: of("embeddings"), search: of("search") };
};

test("init, probe --write, check and serve lead from a server to vectors", async () => {
  expect((await run("init")).code).toBe(0);
  const probed = await run(`models probe ${server.url} --write`);
  expect([probed.code, probed.stderr]).toEqual([0, expect.stringContaining("1024 numbers")]);
  const { code, embeddings } = await check("wadi.toml");
  expect([code, embeddings]).toMatchObject([0, [{ status: "ok" }]]);
  expect(embeddings[0]!.says).toMatch(/^one text in \d+ ms, 1024 numbers, 6000 words in \d+ ms$/);
  const serving = await room.serve(["serve", "--port", "0"]);
  expect(serving.banner).toContain("services  embeddings (tei) · search (stub)");
  const body = { model: "bge-m3", input: "Hello" };
  const reply = await serving.ask("POST", "/v1/embeddings", { key: serving.key, body });
  expect(reply.status).toBe(200);
  const { data } = (await reply.json()) as { data: { embedding: number[] }[] };
  expect(data[0]!.embedding).toHaveLength(1_024);
});

test("check finds a server whose batch is too small for a long text", async () => {
  const small = startEmbeddingServer(llama({ ubatch: 512 }));
  write("small.toml", `[embeddings]\nkind = "openai"\nurls = ["${small.url}"]\n`);
  const { code, embeddings } = await check("small.toml");
  expect([code, embeddings]).toMatchObject([0, [{ status: "warn" }]]);
  expect(embeddings[0]!.says).toContain("1024 numbers, not 6000 words in one text: ");
  await small.stop();
});

test("a start reports a stub beside real models, and check a missing folder", async () => {
  const real =
    '[[models]]\nid = "r"\nupstream = { kind = "openai", urls = ["http://127.0.0.1:1/v1"] }\n';
  mkdirSync(join(room.directory, "docs"));
  write("docs/a.md", "# A\n\nA test.\n");
  const search = (folder: string) => `[search]\nkind = "stub"\nfolder = "${folder}"\n`;
  write("stubs.toml", `${real}[embeddings]\nkind = "stub"\n${search("docs")}`);
  const found = await check("stubs.toml");
  expect(found.embeddings).toMatchObject([{ status: "warn" }]);
  expect(found.search).toMatchObject([{ status: "ok" }]);
  expect(found.search[0]!.says).toMatch(/^the pages of docs, one query asked, 1 result in \d+ ms$/);
  const line = ["serve", "--port", "0", "--data", "stubs", "--config", "stubs.toml"];
  const serving = await room.serve(line);
  expect(await serving.logged("beside real models")).toContain("embeddings");
  write("lost.toml", search("nowhere"));
  const lost = await check("lost.toml");
  expect([lost.code, lost.search]).toMatchObject([1, [{ status: "fail" }]]);
});
