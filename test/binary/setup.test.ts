// Setup with the compiled program: init, models probe, check, and a chat with the resulting
// settings.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { executable } from "../../scripts/build.ts";
import { openRoom, type Room } from "../support/binary.ts";
import {
  behindKey,
  embedding,
  llamaServer,
  type ModelServer,
  ollama,
  startModelServer,
  textEmbeddings,
  vllm,
} from "../support/model-servers.ts";

let room: Room;
let model: ModelServer;
beforeAll(() => {
  room = openRoom();
  model = startModelServer(behindKey(vllm(), "sk-server"));
});
afterAll(async () => {
  await room.close();
  await model.stop();
});

const env = { SERVER_KEY: "sk-server" };
const run = (line: string) => room.perform(line.split(" "), { env });
const path = (name: string) => join(room.directory, name);

test("init, probe --write, check and serve lead from nothing to a chat", async () => {
  expect((await run("init")).stdout).toBe("wadi.toml\n");
  const again = await run("init");
  expect([again.code, again.stderr]).toEqual([
    1,
    "wadi: wadi.toml is there already, and is not overwritten\n",
  ]);

  const probed = await run(`models probe ${model.root} --write --api-key-env SERVER_KEY`);
  expect(probed.code).toBe(0);
  expect(probed.stderr).toMatch(/^server +vLLM 0\.11\.0\n/);
  expect(probed.stderr).toMatch(/^at once +unknown\nmay wait +unknown\n/m);
  expect(probed.stderr).toContain("written to wadi.toml");
  expect(readFileSync(path("wadi.toml"), "utf8")).toEndWith(`\n${probed.stdout}`);
  expect(probed.stdout + probed.stderr).not.toContain("sk-server");

  const checked = await run("check");
  expect([checked.code, checked.stderr]).toEqual([0, ""]);
  expect(checked.stdout).toMatch(/^ok +settings +wadi\.toml +1 model, qwen3-32b by default\n/);
  expect(checked.stdout).toMatch(/^ok +model +qwen3-32b .+ one token in \d+ ms, listed, healthy/m);
  expect(existsSync(path("wadi-data"))).toBe(false);

  const server = await room.serve(["serve", "--port", "0"], { env });
  const reply = (await (await server.chat("Hi")).json()) as {
    choices: { message: { content: string } }[];
  };
  expect(reply.choices[0]!.message.content).toBe("Hello");
  // Beside the running server, and with the secrets key that it made.
  const beside = JSON.parse((await run("check --json")).stdout) as { what: string; says: string }[];
  expect(beside.filter(({ what }) => what !== "model").map(({ says }) => says)).toEqual([
    "1 model, qwen3-32b by default",
    "its schema is this program's",
    expect.stringMatching(/^\d+ MB free; nothing new is accepted below 512 MB/),
    "it can be read",
    "calls answer 503 service_unavailable",
    "calls answer 503 service_unavailable",
    "agrees with the servers' within a minute",
  ]);
});

test("--json is one document that contains the block", async () => {
  const { code, stdout, stderr } = await run(
    `models probe ${model.root}/v1 --api-key-env SERVER_KEY --id q --json`,
  );
  expect(code).toBe(0);
  expect(stderr).not.toContain("server ");
  const { kind, id, block, file } = JSON.parse(stdout);
  expect({ kind, id, file }).toEqual({ kind: "vLLM", id: "q", file: null });
  expect(block).toContain('[[models]]\nid = "q"\n');
});

test("init prints the texts of a service for the settings in force, and writes no file", async () => {
  writeFileSync(path("service.toml"), '[server]\nport = 9001\nstop_timeout = "45s"\n');
  const before = readdirSync(room.directory);
  const { code, stdout, stderr } = await room.run(
    "init --systemd --config service.toml --data ./kept".split(" "),
  );
  expect([code, stderr]).toEqual([0, ""]);
  const options = `--config ${path("service.toml")} --data ${path("kept")}`;
  expect(stdout).toContain(`\nExecStart=${realpathSync(executable())} serve ${options}\n`);
  expect(stdout).toContain("\nTimeoutStopSec=60\n");
  for (const name of ["nginx", "caddy", "docker"]) {
    expect((await run(`init --${name} --config service.toml`)).stdout).toContain("9001");
  }
  const { text } = JSON.parse((await run("init --caddy --config service.toml --json")).stdout);
  expect(text).toContain("reverse_proxy http://127.0.0.1:9001 {");
  expect(await run("init --nginx --caddy")).toMatchObject({ code: 2 });
  expect(await run("init --nginx wadi.toml")).toMatchObject({ code: 2 });
  expect(readdirSync(room.directory)).toEqual(before);
});

describe("settings that would not serve", () => {
  test("fail a check: a dead server, and an invalid file", async () => {
    const dead = '[[models]]\nid = "dead"\n[models.upstream]\nkind = "openai"\n';
    writeFileSync(path("dead.toml"), `${dead}urls = ["http://127.0.0.1:1/v1"]\n`);
    const { code, stdout } = await run("check --config dead.toml");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail +model +dead .+ the connection was refused$/m);
    writeFileSync(path("broken.toml"), "port = 1\n");
    const broken = await run("check --config broken.toml");
    expect([broken.code, broken.stderr]).toEqual([1, ""]);
    expect(broken.stdout).toMatch(
      /^fail +settings +broken\.toml +broken\.toml:1:1: unknown setting/,
    );
  });

  test("fail a probe: a missing or wrong key, which is not printed", async () => {
    const { code, stderr } = await run(`models probe ${model.root}`);
    expect([code, stderr]).toEqual([
      1,
      `wadi: ${model.root}: it wants a key: name its variable with --api-key-env\n`,
    ]);
    const options = { env: { SERVER_KEY: "sk-wrong" } };
    const wrong = await room.perform(
      ["models", "probe", model.root, "--api-key-env", "SERVER_KEY"],
      options,
    );
    expect(wrong.stderr).toContain("it refuses this key");
    expect(wrong.stderr).not.toContain("sk-wrong");
  });
});

describe("--write", () => {
  test("refuses an existing id, and takes another", async () => {
    const server = startModelServer(llamaServer());
    const probe = `models probe ${server.root} --write --config several.toml`;
    expect((await run(probe)).code).toBe(0);
    const once = readFileSync(path("several.toml"), "utf8");
    const again = await run(probe);
    expect(again.code).toBe(1);
    expect(again.stderr).toContain('has a model "gemma-3-4b-it-q4_k_m" already');
    expect(readFileSync(path("several.toml"), "utf8")).toBe(once);
    expect((await run(`${probe} --id gemma`)).code).toBe(0);
    await server.stop();
  });

  test("requires a choice where there are several models", async () => {
    const server = startModelServer(ollama());
    const probe = `models probe ${server.root} --config chosen.toml --write`;
    const { code, stderr } = await run(probe);
    expect(code).toBe(1);
    expect(stderr).toContain("choose one with --model (qwen3:8b, nomic-embed-text:latest)");
    expect(existsSync(path("chosen.toml"))).toBe(false);
    expect((await run(`${probe} --model qwen3:8b`)).code).toBe(0);
    await server.stop();
  });

  test("writes the table of embeddings once, and nothing for a server that has none", async () => {
    const server = startModelServer(textEmbeddings());
    expect((await run("init tei.toml")).code).toBe(0);
    const probe = `models probe ${server.root} --write --config tei.toml`;
    const probed = await run(probe);
    expect(probed.code).toBe(0);
    expect(probed.stdout).toContain(`[embeddings]\nkind = "tei"\nurls = ["${server.root}"]\n`);
    expect(probed.stderr).toMatch(/^vectors +1024 numbers$/m);
    expect(readFileSync(path("tei.toml"), "utf8")).toContain(
      `[embeddings]\n# Text Embeddings Inference 1.8.2\n`,
    );
    const again = await run(probe);
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringMatching(/tei\.toml:\d+: it says something of \[embeddings\] already/),
    ]);
    await server.stop();
    const narrow = startModelServer(textEmbeddings({ "POST /v1/embeddings": embedding(384) }));
    const refused = await run(`models probe ${narrow.root} --write --config none.toml`);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("nothing was written: its vectors have 384 numbers");
    await narrow.stop();
    const ranks = { "GET /info": () => ({ model_type: { reranker: {} } }) };
    const ranking = startModelServer(textEmbeddings(ranks));
    const described = await run(`models probe ${ranking.root}`);
    expect([described.code, described.stdout]).toEqual([0, ""]);
    expect(described.stderr).toContain("it serves reranking, which this version does not use");
    expect(existsSync(path("none.toml"))).toBe(false);
    await ranking.stop();
  });
});

test("a first start says what the new account lacks for an external model", async () => {
  const fresh = openRoom();
  const text = '[[models]]\nid = "rented"\nupstream = { kind = "stub" }\n';
  writeFileSync(join(fresh.directory, "wadi.toml"), text);
  const grant = "accounts grant default rented";
  const server = await fresh.serve(["serve", "--port", "0"]);
  expect(server.banner.join("\n")).toContain(`before \`wadi ${grant}\``);
  expect((await server.chat("Hi")).status).toBe(403);
  expect((await fresh.run(grant.split(" "))).code).toBe(0);
  expect((await server.chat("Hi")).status).toBe(201);
  await fresh.close();
});

test("the dev account may call an external model, and its other account may not", async () => {
  const fresh = openRoom();
  const text = '[[models]]\nid = "rented"\nupstream = { kind = "stub" }\n';
  writeFileSync(join(fresh.directory, "wadi.toml"), text);
  const server = await fresh.serve(["dev", "--port", "0"]);
  expect((await server.chat("Hi")).status).toBe(201);
  expect((await server.chat("Hi", { key: "svc_sk_dev-other" })).status).toBe(403);
  await fresh.close();
});

test.each(["init other.toml", "init --config another.toml"])(
  "`%s` names the file that the next command writes",
  async (line) => {
    const file = line.split(" ").at(-1)!;
    const { stdout, stderr } = await run(line);
    expect(stdout).toBe(`${file}\n`);
    expect(stderr).toContain(`--write --config ${file}`);
  },
);

test("init --grafana writes a dashboard and alert rules, and leaves existing files alone", async () => {
  const first = await run("init --grafana --json");
  expect(JSON.parse(first.stdout)).toEqual({
    written: ["grafana/wadi-dashboard.json", "grafana/wadi-alerts.yml"],
    kept: [],
  });
  expect(JSON.parse(readFileSync(path("grafana/wadi-dashboard.json"), "utf8"))).toMatchObject({
    title: "Wadi",
  });
  writeFileSync(path("grafana/wadi-alerts.yml"), "mine");
  rmSync(path("grafana/wadi-dashboard.json"));
  const again = await run("init --grafana");
  expect(again).toEqual({
    code: 0,
    stdout: "grafana/wadi-dashboard.json\n",
    stderr: "grafana/wadi-alerts.yml is there already, and is not overwritten\n",
  });
  expect(readFileSync(path("grafana/wadi-alerts.yml"), "utf8")).toBe("mine");
  const refused = await run("init --grafana other.toml");
  expect([refused.code, refused.stderr]).toEqual([
    2,
    "wadi: --grafana takes no FILE: it writes below ./grafana\n",
  ]);
  rmSync(path("grafana"), { recursive: true });
  writeFileSync(path("grafana"), "a file");
  expect((await run("init --grafana")).stderr).toBe(
    "wadi: the files of grafana cannot be written (EEXIST)\n",
  );
});
