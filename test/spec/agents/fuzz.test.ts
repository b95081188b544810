// Thousands of drawn bodies on the routes of agents: none breaks them, and every answer is documented.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createDraw } from "../../http/draw.ts";
import type { TestApp } from "../../support/app.ts";
import { type Document, findBreach } from "../gateway/document.ts";
import { drawBody } from "../gateway/fuzz-bodies.ts";
import { readRefusal } from "./refusal.ts";
import { createAgent, readJson, startService } from "./service.ts";

const SEED = 20_261_121;
const BODIES = 1_500;
/** Verb, path, success, and the least share of bodies that must have been one: names are unknown. */
const ROUTES: [verb: "post" | "patch", path: string, status: number, share: number][] = [
  ["post", "/v1/agents", 201, 30],
  ["patch", "/v1/agents/{id}", 200, 8],
  ["post", "/v1/agents/{id}/versions", 201, 30],
];

let app: TestApp;
let document: Document;
beforeAll(async () => {
  app = await startService();
  document = (await readJson(await app.get("/openapi.json"))) as Document;
});
afterAll(() => app.stop());

for (const [verb, path, success, share] of ROUTES) {
  test(`agents.errors.p9 ${verb} ${path} answers whatever body is sent, as it is documented`, async () => {
    const { id } = await createAgent(app);
    const { responses, requestBody } = document.paths[path]![verb]!;
    const { schema } = requestBody!.content["application/json"]!;
    const draw = createDraw(SEED);
    const statuses = new Map<number, number>();
    for (let n = 0; n < BODIES; n++) {
      const body = drawBody(document, schema, draw);
      const reply = await app.ask(verb.toUpperCase(), path.replace("{id}", id), { body });
      const { status, headers } = reply;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const documented = responses[status]?.content["application/json"];
      expect([body.slice(0, 500), status, documented && status < 500]).toEqual([
        ...[body.slice(0, 500), status, true],
      ]);
      const text = await reply.text();
      if (status >= 400) await readRefusal(new Response(text, { status, headers }));
      const breaches = findBreach(document, documented!.schema, JSON.parse(text));
      expect([body.slice(0, 500), breaches]).toEqual([body.slice(0, 500), []]);
    }
    expect(statuses.get(success)).toBeGreaterThan(BODIES / share);
    expect(statuses.get(400)).toBeGreaterThan(BODIES / 8);
    expect(app.lines.filter(({ level }) => level === "error")).toEqual([]);
  });
}
