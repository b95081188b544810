// Tests that inputs are sent in batches of valid size, and returned in order.
import { describe, expect, test } from "bun:test";
import {
  encode,
  llama,
  tei,
  tokenize,
  vectorOf,
  vllm,
  writeData,
} from "../../../support/embedding-servers.ts";
import {
  bodiesOf,
  connect,
  expectFailure,
  expectGood,
  REQUEST_ID,
  serve,
  TRACE,
  writeText,
} from "./connect.ts";

const PATH = "POST /v1/embeddings";
const INPUTS = Array.from({ length: 64 }, (_, at) => `input ${at}`);
const sizesOf = (server: Parameters<typeof bodiesOf>[0]) =>
  bodiesOf(server, PATH).map(({ input }) => (input as unknown[]).length);

describe("batches", () => {
  const CAPS: [what: string, kind: string, reported: number, lines: string, sizes: number[]][] = [
    ["TEI's own maximum", "tei", 32, "", [32, 32]],
    ["TEI's lower maximum", "tei", 20, "", [20, 20, 20, 4]],
    ["all that a request can have, whatever more TEI takes", "tei", 1_000, "", [64]],
    ["the operator's maximum", "tei", 32, "max_batch = 30", [30, 30, 4]],
    ["64 by default", "openai", 0, "", [64]],
    ["the operator's maximum for any server", "openai", 0, "max_batch = 1", new Array(64).fill(1)],
  ];
  test.each(CAPS)("gateway.endpoints.embeddings.input: hold %s", async (...row) => {
    const [, kind, reported, lines, sizes] = row;
    const server = serve(kind === "tei" ? tei({ batch: reported }) : vllm());
    const { embed } = connect([server.url], lines, kind);
    const embedded = await expectGood(embed(INPUTS));
    expect(sizesOf(server)).toEqual(sizes);
    // gateway.endpoints.embeddings.p2
    expect(embedded.vectors).toEqual(INPUTS.map((text) => vectorOf(tokenize(text))));
    expect(embedded.prompt_tokens).toBe(64 * 4);
  });

  test("hold 32 texts where TEI does not report its maximum", async () => {
    const { "GET /info": _, ...routes } = tei();
    const server = serve(routes);
    await expectGood(connect([server.url], "", "tei").embed(INPUTS));
    expect(sizesOf(server)).toEqual([32, 32]);
  });

  test("follow TEI to a lower maximum, once it has refused its own", async () => {
    const server = serve(tei());
    const { embed } = connect([server.url], "", "tei");
    await expectGood(embed(INPUTS));
    server.routes = tei({ batch: 8 });
    const failure = await expectFailure(embed(INPUTS));
    expect(failure).toMatchObject({ code: "upstream_error", upstreamStatus: 413 });
    expect(failure.reason).toContain("max_batch");
    await expectGood(embed(INPUTS));
  });

  test("hold texts or token ids, never both, and cut texts keep their index", async () => {
    const server = serve(llama());
    const { embed } = connect([server.url], "max_batch = 2");
    const long = (name: string) => writeText(5_000, name);
    const inputs = [long("p"), "a", "b", long("q"), "c", long("r")];
    const embedded = await expectGood(embed(inputs));
    const read = inputs.map((text) => {
      const ids = tokenize(text);
      return ids.length > 4_096 ? [...ids.slice(0, 4_095), 2] : ids;
    });
    expect(embedded.vectors).toEqual(read.map(vectorOf));
    expect(sizesOf(server)).toEqual([2, 1, 2, 1]);
  });

  test("stop at a failure, and the next replica gets all of them", async () => {
    const [first, second] = [serve(vllm()), serve(vllm())];
    first.instead = ({ body }) =>
      (body.input as string[] | undefined)?.includes("input 40")
        ? Response.json({ error: { message: "CUDA error" } }, { status: 500 })
        : undefined;
    const { embed } = connect([first.url, second.url], "max_batch = 16");
    const embedded = await expectGood(embed(INPUTS));
    expect(embedded.vectors).toEqual(INPUTS.map((text) => vectorOf(tokenize(text))));
    expect(sizesOf(first)).toEqual([16, 16, 16]);
    expect(sizesOf(second)).toEqual([16, 16, 16, 16]);
    expect(embedded).toMatchObject({ attempts: 2, prompt_tokens: 256 });
  });
});

describe("a request to a server", () => {
  test("has the server's model name, our key, the operator's headers, an id and the trace", async () => {
    const server = serve(vllm());
    const lines = 'model = "BAAI/bge-m3"\n[embeddings.headers]\nx-tenant = "t1"';
    const { embed } = connect([server.url], lines);
    await expectGood(embed(["a", writeText(5_000)]));
    expect(bodiesOf(server, PATH)[0]).toEqual({
      model: "BAAI/bge-m3",
      input: ["a"],
      encoding_format: "base64",
    });
    for (const { headers, name } of server.asked) {
      const sent = ["x-request-id", "traceparent", "x-tenant", "accept-encoding"];
      expect([name, ...sent.map((header) => headers.get(header))]).toEqual([
        ...[name, REQUEST_ID, TRACE, "t1", "identity"],
      ]);
    }
  });

  test("uses the configured path, and one beside it for other routes", async () => {
    const server = serve(vllm());
    const { [PATH]: embeddings, "POST /tokenize": tokens } = server.routes;
    server.routes = { "POST /at/v9/embeddings": embeddings!, "POST /at/v9/tokenize": tokens! };
    await expectGood(connect([server.url.replace("/v1", "/at/v9/")]).embed(["a"]));
    const root = server.url.replace("/v1", "");
    for (const [url, kind] of [
      [`${root}/`, "tei"],
      [`${root}/v1`, "tei"],
      [`${root}/v1/`, "openai"],
    ]) {
      server.routes = kind === "tei" ? tei() : vllm();
      await expectGood(connect([url!], "", kind).embed(["a", writeText(5_000)]));
    }
  });

  test("asks for base64 again if the refusal had another reason", async () => {
    const server = serve(vllm());
    const said = "missing: {'model': 'x', 'encoding_format': 'base64'}";
    server.instead = ({ name }) =>
      name === PATH ? new Response(said, { status: 422 }) : undefined;
    const { embed } = connect([server.url]);
    await expectFailure(embed(["a"]));
    server.instead = () => undefined;
    await expectGood(embed(["a"]));
    const formats = bodiesOf(server, PATH).map(({ encoding_format }) => encoding_format);
    expect(formats).toEqual(["base64", "float", "base64"]);
  });

  test("asks for base64, unless its server has refused that", async () => {
    const server = serve(vllm());
    server.instead = ({ name, body }) =>
      name === PATH && body.encoding_format === "base64"
        ? Response.json({ error: { message: "encoding_format must be float" } }, { status: 422 })
        : undefined;
    const { embed } = connect([server.url]);
    await expectGood(embed(["a"]));
    await expectGood(embed(["b"]));
    const formats = bodiesOf(server, PATH).map(({ encoding_format }) => encoding_format);
    expect(formats).toEqual(["base64", "float", "float"]);
  });
});

describe("usage", () => {
  const untold = (body: Parameters<typeof writeData>[1]) => {
    const read = (body.input as (string | number[])[]).map((one) =>
      typeof one === "string" ? tokenize(one) : one,
    );
    return writeData(read, body);
  };

  test("is the server's, as a total if there is no other", async () => {
    const server = serve({ [PATH]: (body) => ({ ...untold(body), usage: { total_tokens: 77 } }) });
    const embedded = await expectGood(connect([server.url]).embed(["a b c"]));
    expect(embedded).toMatchObject({ prompt_tokens: 77 });
    expect(embedded.usageEstimated).toBeUndefined();
  });

  const NONE = [
    undefined,
    null,
    {},
    { prompt_tokens: 0 },
    { prompt_tokens: "7" },
    { prompt_tokens: 0.5 },
    { prompt_tokens: -5 },
    // At most 4,096 tokens of each of the two texts are converted.
    { prompt_tokens: 8_193 },
    { prompt_tokens: Number.MAX_SAFE_INTEGER },
  ];
  test.each(NONE)("that is %j is an estimate, and marked", async (usage) => {
    const server = serve({ [PATH]: (body) => ({ ...untold(body), usage }) });
    const text = "The quick brown fox jumps over the lazy dog.";
    const embedded = await expectGood(connect([server.url]).embed([text, "中文"]));
    expect(embedded).toMatchObject({ prompt_tokens: 13, usageEstimated: true });
  });

  test("is at most all that is converted", async () => {
    const usage = { prompt_tokens: 8_192 };
    const server = serve({ [PATH]: (body) => ({ ...untold(body), usage }) });
    const embedded = await expectGood(connect([server.url]).embed(["a", "b"]));
    expect(embedded).toMatchObject(usage);
    expect(embedded.usageEstimated).toBeUndefined();
  });

  test("is exact if the server has counted but reports nothing", async () => {
    const { [PATH]: _, ...routes } = vllm();
    const server = serve({ ...routes, [PATH]: (body) => ({ ...untold(body), usage: null }) });
    const inputs = [writeText(4_094, "fit"), writeText(9_000)];
    const embedded = await expectGood(connect([server.url]).embed(inputs));
    expect(embedded.prompt_tokens).toBe(8_192);
    expect(embedded.usageEstimated).toBeUndefined();
  });
});

test("the scripted servers return unit vectors", () => {
  const vector = vectorOf([0, 10, 2]);
  expect(encode(vector).length).toBe(5_464);
  expect(Math.hypot(...vector)).toBeCloseTo(1, 6);
});
