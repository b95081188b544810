// Tests the OpenAPI document of agents routes: their parameters, envelope and errors.
import { expect, test } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Type } from "@sinclair/typebox";
import { IdParams, Uuid } from "../../../src/http/fields.ts";
import { createDocumentPage } from "../../../src/http/openapi/document.ts";
import { createRouter, type RouterOptions } from "../../../src/http/router.ts";
import { HttpServer } from "../../../src/http/server.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createManualClock } from "../../support/clock.ts";
import { createSeededIds } from "../../support/ids.ts";
import { PLAIN_SERVER } from "../test-server.ts";

interface Operation {
  parameters: { name?: string; in?: string; $ref?: string }[];
  responses: Record<string, { description: string; content?: Record<string, unknown> }>;
  requestBody?: { required: boolean };
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown>; responses: Operation["responses"] };
}

const Thing = Type.Object({ id: Type.String({ description: "Its id." }) }, { $id: "Thing" });
const Query = Type.Object({
  limit: Type.Optional(
    Type.Integer({ description: "How many at most.", minimum: 1, maximum: 200, default: 50 }),
  ),
  agent_id: Uuid("Only of this agent."),
});

async function writeDocument(): Promise<Document> {
  const clock = createManualClock();
  const ids = createSeededIds();
  const log = createLog(clock, () => {}, false);
  const server = new HttpServer({ ...PLAIN_SERVER, clock, ids, log });
  // No request comes: the routes are only described.
  const router = createRouter({
    surface: "agents",
    alias: "svc",
    clock,
    ids,
    log,
  } as unknown as RouterOptions);
  const spec = { summary: "Some things", refusals: [], scope: "agents" as const };
  const replies = { 200: { description: "The things.", schema: Thing } };
  const body = Type.Object(
    { note: Type.Optional(Type.String({ description: "A note." })) },
    { $id: "NewThing", description: "A thing.", additionalProperties: false },
  );
  const nothing = { 204: { description: "It is gone." } };
  router.get("/v1/agents", { ...spec, replies, query: Query }, () => [200, {}]);
  router.post("/v1/agents/:id/things", { ...spec, replies, body, params: IdParams }, () => [
    200,
    {},
  ]);
  router.delete("/v1/agents/:id", { ...spec, replies: nothing, params: IdParams }, () => [
    204,
    null,
  ]);
  const feature = "http_tools" as const;
  router.put("/v1/agents", { ...spec, replies, feature }, () => [200, {}]);
  server.open([router], []);
  const page = createDocumentPage({ routers: [router], version: "1" });
  return (await (await page.answer()).json()) as Document;
}

const document = await writeDocument();

/** Of an operation, or of those that it references. */
const responseOf = ({ responses }: Operation, status: string) => {
  const { $ref } = responses[status] as { $ref?: string };
  return $ref ? document.components.responses[$ref.split("/").at(-1)!]! : responses[status]!;
};

test("the document is valid OpenAPI 3.1.0", async () => {
  const { valid, errors } = await new Validator().validate({ ...document });
  expect([valid, errors]).toEqual([true, undefined]);
});

test("agents.resources.p4 parameters of the path and the query are described", () => {
  expect(Object.keys(document.paths).toSorted()).toEqual([
    "/v1/agents",
    "/v1/agents/{id}",
    "/v1/agents/{id}/things",
  ]);
  const pattern = expect.stringContaining("[0-9a-fA-F]{12}");
  const header = { $ref: "#/components/parameters/x-request-id" };
  expect(document.paths["/v1/agents/{id}"]!.delete!.parameters).toEqual([
    {
      name: "id",
      in: "path",
      required: true,
      description: "The id of the object.",
      schema: { type: "string", pattern },
    } as object,
    header,
  ]);
  expect(document.paths["/v1/agents"]!.get!.parameters).toEqual([
    {
      name: "limit",
      in: "query",
      required: false,
      description: "How many at most.",
      schema: { type: "integer", minimum: 1, maximum: 200, default: 50 },
    } as object,
    {
      name: "agent_id",
      in: "query",
      required: true,
      description: "Only of this agent.",
      schema: { type: "string", pattern },
    } as object,
    header,
  ]);
});

test("agents.errors.p1 agents.errors.p9 every route lists its errors, in its surface's envelope", () => {
  for (const methods of Object.values(document.paths)) {
    for (const operation of Object.values(methods)) {
      const { responses, requestBody } = operation;
      const refusals = Object.keys(responses).filter((status) => Number(status) >= 400);
      const always = ["400", "401", "403", "429", "500", "503"];
      expect(refusals).toEqual(requestBody ? [...always, "413"].toSorted() : always);
      for (const status of refusals) {
        const schema = { $ref: "#/components/schemas/AgentError" };
        expect(responseOf(operation, status).content).toEqual({ "application/json": { schema } });
      }
      // agents.errors.p4
      for (const status of ["400", "401", "429", "500"]) {
        expect(responseOf(operation, status).description).not.toContain("`:");
      }
      expect(responseOf(operation, "403").description).toContain("`scope_required`");
      expect(responseOf(operation, "503").description).toContain("`not_enabled`");
    }
  }
  expect(Object.keys(document.components.schemas)).toContain("AgentError");
});

test("agents.errors.not_enabled a route of a disabled feature answers 403", () => {
  const { get, put } = document.paths["/v1/agents"]!;
  expect(responseOf(put!, "403").description).toContain("`not_enabled`: This feature is");
  expect(responseOf(get!, "403").description).not.toContain("not_enabled");
});

test("a body without required fields is optional, and 204 has none", () => {
  const { post } = document.paths["/v1/agents/{id}/things"]!;
  expect(post!.requestBody?.required).toBe(false);
  const { delete: remove } = document.paths["/v1/agents/{id}"]!;
  expect(remove!.responses["204"]).not.toHaveProperty("content");
});
