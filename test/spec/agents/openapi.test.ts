// The agents API in the OpenAPI document, and that replies match it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import manifest from "../../../package.json" with { type: "json" };
import { outboxStore } from "../../../src/outbox/store.ts";
import { writeEvent } from "../../../src/webhooks/event.ts";
import { storeKey } from "../../support/access.ts";
import { KEY, type TestApp } from "../../support/app.ts";
import { listBounds } from "../../support/bounds.ts";
import { type Document, findBreach, type Schema } from "../gateway/document.ts";
import { listOwn, listParams, type Population, populate, startRun } from "./population.ts";
import {
  askRoute,
  isDecision,
  listRoutes,
  NEED_SERVER,
  ownBody,
  type Route,
  readDocument,
  TRIAL,
} from "./routes.ts";
import { createWebhook, type Json, readJson, startService } from "./service.ts";

/** The variants of a step, each a resource of its own. */
const STEPS = ["AssistantStep", "ToolCallStep", "ToolResultStep", "SystemStep", "ApprovalStep"];
/** The resources of the spec that this version has. */
const RESOURCES = ["Agent", "AgentDetail", "AgentVersion", "Run", "Thread", "Message", ...STEPS];
const MORE_RESOURCES = [
  ...["Approval", "ToolRevision", "Connection", "Trigger", "Fire"],
  ...["WebhookEndpoint", "WebhookEndpointSecret", "Delivery", "DeliveryDetail", "DeliveryAttempt"],
];

let app: TestApp;
let document: Document;
let routes: Route[];
let mine: Population;
beforeAll(async () => {
  app = await startService({ listens: true });
  document = await readDocument(app);
  routes = listRoutes(document);
  mine = await populate(app, KEY);
});
afterAll(() => app.stop());

const schemaOf = (name: string) => document.components.schemas[name]!;
const mayBeNull = ({ anyOf = [] }: Schema) => anyOf.some(({ type }) => type === "null");
const breaches = (name: string, value: unknown) => findBreach(document, schemaOf(name), value);

describe("agents.p4 agents.versioning.4", () => {
  test("agents.p4 agents.versioning.4 agents.versioning.3 every route is in a valid document of OpenAPI 3.1.0", async () => {
    expect(document.openapi).toBe("3.1.0");
    expect((await new Validator().validate({ ...document })).valid).toBe(true);
    const named = routes.map(({ method, path }) => `${method} ${path}`);
    expect(named).toEqual(
      expect.arrayContaining([
        ...["POST /v1/agents", "GET /v1/agents", "GET /v1/agents/{id}", "PATCH /v1/agents/{id}"],
        ...["GET /v1/agents/{id}/versions", "POST /v1/agents/{id}/versions"],
        ...["POST /v1/agents/{id}/check", "POST /v1/agents/{id}/runs", "GET /v1/agents/{id}/runs"],
        ...["GET /v1/runs", "GET /v1/runs/{id}", "GET /v1/runs/{id}/steps"],
        ...["POST /v1/runs/{id}/cancel", "GET /v1/runs/{id}/events", "GET /v1/agents/usage"],
        ...["GET /v1/threads", "GET /v1/threads/{id}", "GET /v1/threads/{id}/messages"],
        ...["GET /v1/approvals", "GET /v1/approvals/{id}"],
        ...["POST /v1/approvals/{id}/approve", "POST /v1/approvals/{id}/reject"],
        ...["GET /v1/tools", "POST /v1/tools", "GET /v1/tools/{name}"],
        ...["GET /v1/tools/{name}/revisions", "POST /v1/tools/{name}/revisions"],
        ...["POST /v1/tools/{name}/disable", "POST /v1/tools/{name}/enable", TRIAL],
        // agents.endpoints.triggers.p1
        ...["GET /v1/triggers", "POST /v1/triggers", "GET /v1/triggers/{id}"],
        ...["PATCH /v1/triggers/{id}", "DELETE /v1/triggers/{id}"],
        ...["POST /v1/triggers/{id}/rotate-secret", "GET /v1/triggers/{id}/fires"],
        "POST /v1/triggers/{id}/fires",
        // agents.endpoints.webhooks.p1
        ...["POST /v1/webhooks", "GET /v1/webhooks", "GET /v1/webhooks/{id}"],
        ...["PATCH /v1/webhooks/{id}", "DELETE /v1/webhooks/{id}", "POST /v1/webhooks/{id}/test"],
        ...["POST /v1/webhooks/{id}/rotate-secret", "GET /v1/webhooks/{id}/deliveries"],
        ...["POST /v1/webhooks/{id}/deliveries", "GET /v1/webhooks/{id}/deliveries/{delivery_id}"],
        "POST /v1/webhooks/{id}/deliveries/{delivery_id}/replay",
      ]),
    );
    for (const { path } of routes) expect(path).toStartWith("/v1/");
  });

  test("agents.p4 each operation documents its parameters, its scopes and its errors", () => {
    for (const { method, path, operation, body } of routes) {
      const name = `${method} ${path}`;
      const { responses, parameters, description } = operation;
      expect([name, description]).toEqual([
        name,
        expect.stringContaining("Needs the scope `agents"),
      ]);
      const inPath = parameters.filter((one) => one.in === "path").map((one) => one.name);
      expect([name, inPath]).toEqual([name, [...path.matchAll(/\{(\w+)\}/g)].map(([, id]) => id!)]);
      const statuses = ["400", "401", "403", "429", "500", "503"];
      if (path.includes("{")) statuses.push("404");
      if (body) statuses.push("413");
      expect([name, Object.keys(responses)]).toEqual([name, expect.arrayContaining(statuses)]);
      // agents.limits.retry_after
      expect([name, Object.keys(responses["429"]!.headers)]).toContainEqual(
        expect.arrayContaining(["retry-after"]),
      );
      for (const one of parameters.filter(({ $ref }) => !$ref)) {
        expect([name, one]).toEqual([
          name,
          expect.objectContaining({ description: expect.any(String) }),
        ]);
      }
    }
  });

  test("each operation documents its success: 200 unless it makes, begins or deletes something", () => {
    const operations = Object.values(document.paths).flatMap((one) => Object.values(one));
    const groups = Map.groupBy(operations, ({ responses }) =>
      Object.keys(responses)
        .filter((status) => !/^[45]/.test(status))
        .join(),
    );
    const { 200: read, ...others } = Object.fromEntries(
      [...groups].map(([statuses, group]) => [statuses, group.map((one) => one.operationId)]),
    );
    expect(read!.length).toBeGreaterThan(30);
    expect(others).toEqual({
      "200,202": ["callMcp", "receiveHook"],
      "201": [
        ...["createChatCompletion", "createAgent", "createAgentVersion", "createConnection"],
        ...["registerTool", "createToolRevision", "createMcpServer"],
        ...["createTrigger", "createWebhook"],
      ],
      "202": [
        ...["startRun", "rerunRun", "startEvaluation"],
        ...["fireTrigger", "testWebhook", "recoverDeliveries", "replayDelivery"],
      ],
      "204": ["deleteConnection", "deleteMcpServer", "deleteTrigger", "deleteWebhook"],
    });
  });

  test("the bounds of each input are these", () => {
    expect(listBounds(document)).toEqual({
      "1.. items":
        "ChatRequest.messages CountTokensRequest.messages MessagesRequest.messages " +
        "ResponsesRequest.input",
      "0..2":
        "ChatRequest.temperature MessagesRequest.temperature NewAgent.model_params.temperature " +
        "NewAgentVersion.model_params.temperature ResponsesRequest.temperature",
      "0..1":
        "ChatRequest.top_p MessagesRequest.top_p NewAgent.model_params.top_p " +
        "NewAgentVersion.model_params.top_p " +
        "ResponsesRequest.top_p",
      "1..": "ChatRequest.max_tokens MessagesRequest.max_tokens ResponsesRequest.max_output_tokens",
      "-2..2":
        "ChatRequest.frequency_penalty ChatRequest.presence_penalty " +
        "ResponsesRequest.frequency_penalty ResponsesRequest.presence_penalty",
      "..256 characters":
        "ChatRequest.stop ChatRequest.user EmbeddingsRequest.user " +
        "MessagesRequest.metadata.user_id NewTrigger.secret " +
        "ResponsesRequest.safety_identifier ResponsesRequest.user SearchRequest.user",
      "..4 items": "ChatRequest.stop MessagesRequest.stop_sequences",
      "1..256 characters":
        "ChatRequest.stop[] MessagesRequest.stop_sequences[] NewTool.title NewToolRevision.title",
      "1.. characters": "EmbeddingsRequest.input EmbeddingsRequest.input[]",
      "1..64 items": "EmbeddingsRequest.input",
      "1..400 characters": "SearchRequest.query",
      "1..20, default 5": "SearchRequest.max_results",
      "1..200 characters":
        "AgentPatch.name ConnectionPatch.name NewAgent.name NewAgentVersion.name " +
        "NewConnection.name NewTrigger.name TriggerPatch.name",
      "1..100000 characters":
        "NewAgent.system_prompt NewAgentVersion.system_prompt NewTrigger.input.message " +
        "RerunRun.input.message StartRun.input.message TriggerPatch.input.message",
      "..1024 characters": "NewConnection.oauth.scope",
      "1..512 characters": "NewConnection.oauth.client_id",
      "1..128 characters": "NewAgent.model NewAgentVersion.model",
      "..128 items":
        "NewAgent.policy.require_approval NewAgent.tools " +
        "NewAgentVersion.policy.require_approval NewAgentVersion.tools",
      "1..64 characters":
        "NewAgent.tools[] NewAgentVersion.tools[] NewConnection.header_name " +
        "StartEvaluation.checks[].called.tool StartEvaluation.checks[].not_called.tool",
      "1..1000 characters": "StartEvaluation.checks[].output_pattern",
      "1..500 items": "StartEvaluation.runs",
      "60..2592000":
        "NewAgent.policy.approval_ttl_seconds NewAgentVersion.policy.approval_ttl_seconds",
      "..64 characters":
        "NewAgent.policy.require_approval[] NewAgentVersion.policy.require_approval[] " +
        "NewTrigger.time_zone TriggerPatch.time_zone",
      "..32 characters": "NewAgent.budgets.max_cost_sar NewAgentVersion.budgets.max_cost_sar",
      "0..":
        "NewAgent.budgets.max_cost_sar NewAgentVersion.budgets.max_cost_sar " +
        "StartRun.budgets.max_cost_sar",
      "1..200": "NewAgent.budgets.max_rounds NewAgentVersion.budgets.max_rounds",
      "0..2147483647":
        "NewAgent.budgets.max_tool_calls NewAgentVersion.budgets.max_tool_calls " +
        "StartEvaluation.checks[].max_rounds StartEvaluation.checks[].max_seconds " +
        "StartEvaluation.checks[].max_total_tokens StartRun.budgets.max_tool_calls " +
        "listRunSteps?after_seq",
      "1..2147483647":
        "NewAgent.budgets.max_run_seconds NewAgent.budgets.max_total_tokens " +
        "NewAgent.model_params.max_tokens NewAgentVersion.budgets.max_run_seconds " +
        "NewAgentVersion.budgets.max_total_tokens NewAgentVersion.expected_version " +
        "NewAgentVersion.model_params.max_tokens RerunRun.from_round RerunRun.version " +
        "StartEvaluation.version StartRun.budgets.max_rounds " +
        "StartRun.budgets.max_run_seconds StartRun.budgets.max_total_tokens " +
        "ToolAcceptance.revision " +
        "getRunRound?round listAgentVersions?before listToolRevisions?before",
      "..2000 characters":
        "AgentPatch.description NewAgent.description NewAgentVersion.description",
      "..512 characters":
        "AgentPatch.metadata{} NewAgent.metadata{} NewAgentVersion.metadata{} " +
        "StartRun.metadata{} listAgentRuns?metadata{} listRuns?metadata{}",
      "1..100, default 20": "listAgentVersions?limit listToolRevisions?limit",
      "1..200, default 50":
        "listAgentRuns?limit listApprovals?limit listDeliveries?limit listEvaluations?limit listRuns?limit " +
        "listThreads?limit listTriggerFires?limit",
      "..128 characters":
        "NewTrigger.cron TriggerPatch.cron listAgentRuns?before listApprovals?before " +
        "listDeliveries?before listEvaluations?before listRuns?before listThreads?before listTriggerFires?before",
      "1..500": "StartEvaluation.last listRunSteps?limit listThreadMessages?limit",
      "..16 characters": "StartRun.input.content[].image_url.detail",
      "1..32 items": "StartRun.input.content",
      "1..262144 characters": "StartRun.input.content[].image_url.url",
      "1..8192 characters": "NewConnection.secret NewSecret.secret",
      "..20 items":
        "ConnectionPatch.allowed_hosts NewConnection.allowed_hosts NewSecret.allowed_hosts " +
        "StartEvaluation.checks",
      "1..259 characters":
        "ConnectionPatch.allowed_hosts[] NewConnection.allowed_hosts[] " +
        "NewSecret.allowed_hosts[]",
      "1..4096 characters": "NewTool.description NewToolRevision.description",
      "1..2048 characters":
        "NewConnection.oauth.token_url NewMcpServer.url NewTool.endpoint NewToolRevision.endpoint NewWebhook.url WebhookPatch.url",
      "1000..120000": "NewMcpServer.timeout_ms NewTool.timeout_ms NewToolRevision.timeout_ms",
      "..24 characters": "StartEvaluation.checks[].max_cost_sar StartRun.budgets.max_cost_sar",
      "..40 characters":
        "RecoverDeliveries.since RecoverDeliveries.until listAgentRuns?created_after " +
        "listAgentRuns?created_before listRuns?created_after listRuns?created_before",
      "..1000 characters": "DecideApproval.reason",
      "0..86400": "NewTrigger.catch_up_seconds TriggerPatch.catch_up_seconds",
      "0..604800": "RotateSecret.overlap_seconds",
      "1..7 items": "NewWebhook.events WebhookPatch.events",
      "..500 characters": "NewWebhook.description WebhookPatch.description",
    });
  });

  test("agents.versioning.1 the preview's version equals the program's: 0.1.0", () => {
    expect(manifest.version).toBe("0.1.0");
    expect(document.info.version).toBe("0.0.0-test");
  });

  test("agents.errors.p12 the errors of starting a run are documented, and the idempotency header", () => {
    const { operation } = routes.find((one) => one.path === "/v1/agents/{id}/runs" && one.body)!;
    const text = Object.values(operation.responses)
      .map((one) => one.description)
      .join("\n");
    const codes = ["agent_held", "thread_not_found", "thread_busy", "thread_agent_mismatch"];
    codes.push("active_runs_limit", "daily_runs_limit", "admission_busy", "idempotency_conflict");
    for (const code of codes) expect(text).toContain(`\`${code}\``);
    const refs = operation.parameters.map(({ $ref }) => $ref);
    expect(refs).toContain("#/components/parameters/idempotency-key");
    expect(document.components.parameters["idempotency-key"]).toMatchObject({
      ...{ name: "Idempotency-Key", in: "header" },
      schema: { type: "string", pattern: "^[ -~]{1,128}$" },
    });
  });

  test("agents.p4 agents.endpoints.webhooks.p4 every reply is a named, described schema, and the frames of a stream are one", () => {
    for (const { operation } of routes) {
      for (const { content } of Object.values(operation.responses)) {
        for (const { schema } of Object.values(content ?? {})) {
          expect([schema.$ref, schemaOf(schema.$ref!.split("/").at(-1)!).description]).toEqual([
            schema.$ref,
            expect.any(String),
          ]);
        }
      }
    }
    const { operation } = routes.find(({ path }) => path.endsWith("/events"))!;
    expect(Object.keys(operation.responses["200"]!.content)).toEqual(["text/event-stream"]);
  });

  test("agents.p4 every example of a body is valid, and is accepted unchanged", async () => {
    let tried = 0;
    for (const route of routes.filter(({ body }) => body?.examples)) {
      if (NEED_SERVER.includes(route.operation.operationId!)) continue;
      for (const [n, example] of route.body!.examples!.entries()) {
        tried++;
        expect([route.path, findBreach(document, route.body!, example)]).toEqual([route.path, []]);
        const { id } = await readJson(
          await app.post("/v1/agents", { name: "Example", system_prompt: "Be brief." }),
          201,
        );
        const approval = mine.approvals[route.path.endsWith("/approve") ? 0 : 1];
        // An evaluation needs runs that have ended.
        const isEvaluation = route.path.endsWith("/evaluations");
        const own = { ...listOwn(mine), ...(!isEvaluation && { agent: id }) };
        const params = listParams(route, own);
        if (isDecision(route)) params.id = approval.id;
        const routeInput = { params, body: ownBody(route, { agent_id: id }, n) };
        const reply = await askRoute(app, route, { ...routeInput, key: `${KEY}-approver` });
        expect([route.path, reply.ok]).toEqual([route.path, true]);
      }
    }
    expect(tried).toBeGreaterThan(2);
  });
});

const STEP_OF: Record<string, string> = {
  ...{ assistant: "AssistantStep", tool_call: "ToolCallStep", tool_result: "ToolResultStep" },
  ...{ system: "SystemStep", approval: "ApprovalStep" },
};

describe("agents.events.webhook.1", () => {
  const bodyOf = (type: string) => {
    const { requestBody } = document.webhooks[type]!.post;
    return requestBody!.content["application/json"]!.schema;
  };

  test("agents.events.webhook.1 agents.events.webhook.2 the document has each type of event, with the body that is sent", async () => {
    expect(Object.keys(document.webhooks)).toEqual([
      ...["run.completed", "run.failed", "approval.requested", "approval.decided"],
      ...["trigger.fired", "limit.reached", "webhook.test"],
    ]);
    for (const [type, { post }] of Object.entries(document.webhooks)) {
      expect([type, post.security, post.tags]).toEqual([type, [], ["webhooks"]]);
      const refs = post.parameters.map(({ $ref }) => $ref!.split("/").at(-1)!);
      expect(refs).toEqual(["webhook-id", "webhook-timestamp", "webhook-signature"]);
    }
    const { access } = app.app;
    const owner = (await access.accounts.find("dev"))!;
    const { key, secret } = await storeKey(access, { account_id: owner.id });
    await access.keys.limit(key.id, { requests_month: 1 });
    expect((await app.chat("Hello", {}, { key: secret })).status).toBe(201);
    const outbox = app.app.database.bind(outboxStore);
    const isWritten = async () =>
      (await outbox.list(owner.id)).some(({ type }) => type === "limit.reached");
    // The event is written behind the reply.
    while (!(await isWritten())) await app.clock.advance(0);
    const events = await outbox.list(owner.id);
    const types = new Set(events.map(({ type }) => type));
    expect(types.size).toBeGreaterThan(5);
    for (const event of events) {
      const body = JSON.parse(writeEvent(event));
      expect([event.type, findBreach(document, bodyOf(event.type), body)]).toEqual([
        event.type,
        [],
      ]);
    }
    // The check detects faults.
    const [first] = events;
    expect(
      findBreach(document, bodyOf("webhook.test"), JSON.parse(writeEvent(first!))),
    ).not.toEqual([]);
  });
});

describe("agents.resources.p1", () => {
  /** Every resource that was answered, by the name of its schema. */
  const listShown = async (): Promise<[name: string, value: Json][]> => {
    const held = await startRun(app, mine.agent.id, { input: { message: "!stall" } });
    const tools = await readJson(await app.get("/v1/tools"));
    const { version, ...agent } = mine.agent;
    const { frames, steps, messages } = mine;
    const cancelled = await app.ask("POST", `/v1/runs/${held.id}/cancel`);
    return [
      ["AgentDetail", mine.agent],
      ["Agent", agent],
      ["AgentVersion", version],
      ["Thread", mine.thread],
      ["Run", await readJson(cancelled)],
      ...[mine.run, mine.queued, frames.at(-1).run].map((one): [string, Json] => ["Run", one]),
      ...steps.map((one): [string, Json] => [STEP_OF[one.kind]!, one]),
      ...messages.map((one): [string, Json] => ["Message", one]),
      ["ToolRevision", mine.tool],
      ["Connection", mine.connection],
      ["Trigger", mine.trigger],
      ["Fire", mine.fire],
      ["WebhookEndpoint", mine.webhook],
      ["WebhookEndpointSecret", await createWebhook(app)],
      ["Delivery", mine.delivery],
      ["DeliveryDetail", await readDelivery()],
      ...tools.data.map((one: Json): [string, Json] => ["ToolRevision", one]),
      ...mine.approvals.map((one): [string, Json] => ["Approval", one]),
    ];
  };

  const readDelivery = async () =>
    readJson(await app.get(`/v1/webhooks/${mine.webhook.id}/deliveries/${mine.delivery.id}`));

  test("agents.resources.p1 a resource always has every field of its schema, and is valid", async () => {
    for (const [name, value] of await listShown()) {
      expect([name, Object.keys(value)]).toEqual([name, Object.keys(schemaOf(name).properties!)]);
      expect([name, breaches(name, value)]).toEqual([name, []]);
    }
  });

  test("agents.resources.p1 `required` lists exactly the non-nullable fields", () => {
    for (const name of [...RESOURCES, ...MORE_RESOURCES]) {
      const { properties = {}, required } = schemaOf(name);
      const never = Object.keys(properties).filter((field) => !mayBeNull(properties[field]!));
      expect([name, required]).toEqual([name, never]);
    }
  });

  test("agents.resources.p2 an optional field of a nested object may be absent", () => {
    // The hook of an input is such a field of a nested object.
    const { input } = schemaOf("Run").properties!;
    expect(input!.required).toEqual(["message"]);
    expect(Object.keys(mine.run.input)).toEqual(["message"]);
    expect(breaches("Run", mine.run)).toEqual([]);
  });

  test("agents.resources.p3 every instant is ISO 8601 in UTC", () => {
    const text = JSON.stringify([mine.agent, mine.run, mine.steps, mine.thread, mine.messages]);
    const instants = [...text.matchAll(/"(\w+_at)":"([^"]+)"/g)];
    expect(instants.length).toBeGreaterThan(10);
    for (const [, name, instant] of instants) {
      expect([name, new Date(instant!).toISOString()]).toEqual([name, instant!]);
    }
  });

  test("agents.p4 every frame of a stream is valid, also of a failed run", async () => {
    const { id } = await startRun(app, mine.agent.id, { input: { message: "!stall" } });
    await app.ask("POST", `/v1/runs/${id}/cancel`);
    const reply = await app.get(`/v1/runs/${mine.run.id}/events`);
    const events = [...(await reply.text()).matchAll(/^data: (\{.*)$/gm)].map(([, json]) => json!);
    const frames = [...mine.frames, ...events.map((json) => JSON.parse(json))];
    expect(new Set(frames.map(({ type }) => type))).toEqual(
      new Set(["run.status", "step.completed", "run.completed"]),
    );
    for (const frame of frames) expect(breaches("RunEvent", frame)).toEqual([]);
    for (const step of mine.steps) expect(breaches("RunStep", step)).toEqual([]);
    // The check detects faults.
    expect(breaches("RunEvent", { type: "run.status", status: "done" })).not.toEqual([]);
  });
});
