// Thousands of random bodies on every route: none breaks it, and every reply is documented.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createDraw } from "../../http/draw.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { countRounds } from "../../support/rounds.ts";
import { type Document, findBreach, isGateway, type Operation, readDocument } from "./document.ts";
import { drawBody } from "./fuzz-bodies.ts";
import { readRefusal } from "./refusal.ts";

const SEED = 20_261_121;
const BODIES = countRounds(1_500);
const SETTINGS = `
[gateway]
responses = true
messages = true
[limits]
requests_per_minute = 1_000_000
[[models]]
id = "stub-1"
self_hosted = true
capabilities = ["tools", "streaming", "reasoning", "vision"]
upstream = { kind = "stub" }
[embeddings]
kind = "stub"
requests_per_minute = 1_000_000
[search]
kind = "stub"
requests_per_minute = 1_000_000
`;

let app: TestApp;
let document: Document;
beforeAll(async () => {
  app = await startApp({ settings: SETTINGS });
  document = await readDocument(app);
});
afterAll(() => app.stop());

const END = /(?:data: \[DONE\]|event: (?:message_stop|error)\ndata: .*)\n\n$/;

/** Faults of a reply; empty if none. */
async function checkReply({ responses }: Operation, reply: Response): Promise<string[]> {
  const { status, headers } = reply;
  const documented = responses[status];
  if (!documented || status === 422 || status >= 500) return [`status ${status}`];
  const type = headers.get("content-type")!.split(";")[0]!;
  const { schema } = documented.content[type]!;
  const text = await reply.text();
  // Other formats have other envelopes, which the document describes.
  const isOurs = JSON.stringify(schema).includes("GatewayError");
  if (status >= 400 && isOurs) await readRefusal(new Response(text, { status, headers }));
  if (type !== "text/event-stream") return findBreach(document, schema, JSON.parse(text));
  const chunks = text.split("\n").filter((line) => line.startsWith("data: {"));
  const breaches = chunks.flatMap((one) => findBreach(document, schema, JSON.parse(one.slice(6))));
  return END.test(text) ? breaches : [...breaches, "no end"];
}

const ROUTES = [
  ...["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens"],
  ...["/v1/embeddings", "/v1/search"],
];

test("every route with a body is covered", () => {
  const found = Object.entries(document.paths).filter(
    ([path, { post }]) => post?.requestBody && isGateway(path),
  );
  expect(found.map(([path]) => path)).toEqual(ROUTES);
});

for (const path of ROUTES) {
  test(`${path} replies to any body as documented`, async () => {
    const operation = document.paths[path]!.post!;
    const { schema } = operation.requestBody!.content["application/json"]!;
    const draw = createDraw(SEED);
    const statuses = new Map<number, number>();
    for (let n = 0; n < BODIES; n++) {
      const body = drawBody(document, schema, draw);
      const reply = await app.post(path, body);
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
      expect([body.slice(0, 500), await checkReply(operation, reply)]).toEqual([
        body.slice(0, 500),
        [],
      ]);
    }
    // Successes and refusals are both frequent enough.
    const success = Number(Object.keys(operation.responses).find((status) => status < "3"));
    expect(statuses.get(success)).toBeGreaterThan(BODIES / 8);
    expect(statuses.get(400)).toBeGreaterThan(BODIES / 8);
    expect(app.lines.filter(({ level }) => level === "error")).toEqual([]);
    expect(({} as Record<string, unknown>).stream).toBeUndefined();
  });
}
