// POST /v1/tools and its revisions: accepted and refused bodies, and the order of checks.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { KEY, type TestApp } from "../../support/app.ts";
import { expectRefusal } from "./refusal.ts";
import { NOWHERE } from "./routes.ts";
import { readJson, startService } from "./service.ts";
import { makeTool, PARAMETERS, register, revise } from "./tools-bodies.ts";

const OTHER = `${KEY}-other`;

let app: TestApp;
beforeAll(async () => {
  app = await startService();
});
afterAll(() => app.stop());

const post = (fields: object) => app.post("/v1/tools", makeTool(fields));
const without = (field: string) => {
  const { [field]: _, ...body } = makeTool();
  return body;
};

describe("agents.endpoints.tools.post_tools", () => {
  test("agents.endpoints.tools.post_tools agents.resources.tool a tool's first revision has defaults for omitted fields", async () => {
    const made = await register(app, { name: "with_defaults" });
    expect(made).toEqual({
      ...{ name: "with_defaults", kind: "http", revision: 1, risk: "write", title: null },
      ...{ description: "Sends a letter.", parameters: PARAMETERS },
      ...{ endpoint: "https://api.example.com/letters", connection_id: null, timeout_ms: 30_000 },
      ...{ external_content: true, idempotent: false, price_sar: "0.000000" },
      ...{ status: "enabled", latest: true, created_at: "2026-11-20T12:00:00.000Z" },
    });
    expect(await readJson(await app.get("/v1/tools/with_defaults"))).toEqual(made);
    const fields = { risk: null, title: null, connection_id: null, timeout_ms: null };
    const nulls = { ...fields, external_content: null, idempotent: null, name: "with_nulls" };
    expect(await register(app, nulls)).toEqual({ ...made, name: "with_nulls" });
  });

  test("agents.endpoints.tools.post_tools fields are stored as sent", async () => {
    const fields = {
      ...{ name: "0_as_sent", description: "😀".repeat(4_096), title: "é".repeat(256) },
      ...{ endpoint: "https://API.example.com:443/a?b=c%20d", timeout_ms: 120_000 },
      ...{ risk: "irreversible", external_content: false, idempotent: true },
      parameters: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: { __proto__x: { const: "a\u0000b" }, "": { enum: [1, null, "é"] } },
      },
    };
    expect(await register(app, fields)).toMatchObject(fields);
    // The longest name is one that a version may list, too.
    const name = "a".repeat(64);
    expect((await register(app, { name })).name).toBe(name);
    const agent = { name: "Clerk", system_prompt: "x", tools: [name] };
    expect((await app.post("/v1/agents", agent)).status).toBe(201);
  });

  test("half of a pair in a title or description is replaced", async () => {
    const halves = { name: "halves", title: "a\ud83d", description: "b\udc0d" };
    expect(await register(app, halves)).toMatchObject({
      ...{ title: "a\ufffd", description: "b\ufffd" },
    });
  });

  test("agents.endpoints.tools.post_tools a field beyond its bounds is refused by its name", async () => {
    const wrong: [field: string, values: unknown[]][] = [
      ["name", ["", "Send", "a-b", "a b", "é", "a".repeat(65), 1, null, "a\u0000"]],
      ["description", ["", "x".repeat(4_097), "a\u0000b", 1, null]],
      ["parameters", ["{}", [], null, 1]],
      ["endpoint", ["", `https://api.example.com/${"x".repeat(2_048)}`, null]],
      ["risk", ["", "harmless", "Read", 1]],
      ["connection_id", ["mine", 1, `${NOWHERE}0`]],
      ["timeout_ms", [999, 120_001, 1_000.5, "1000"]],
      ["external_content", [0, "false"]],
      ["idempotent", ["yes"]],
      ["title", ["", "x".repeat(257), "a\u0000"]],
      ["price_sar", ["1.00"]],
      ["status", ["disabled"]],
    ];
    for (const [field, values] of wrong) {
      for (const value of values) {
        await expectRefusal(await post({ [field]: value }), 400, undefined, field);
      }
    }
    // Frequent first attempts get advice.
    const refused = await (await post({ name: "send-letter" })).text();
    expect(refused).toContain("1 to 64 characters of a-z, 0-9 and _");
    for (const field of ["name", "description", "parameters", "endpoint"]) {
      const reply = await app.post("/v1/tools", without(field));
      await expectRefusal(reply, 400, undefined, field);
    }
  });

  test("agents.endpoints.tools.post_tools agents.errors.invalid_request parameters that are not a schema of an object are refused", async () => {
    const deep = (levels: number): object =>
      levels === 0 ? {} : { type: "object", properties: { a: deep(levels - 1) } };
    for (const parameters of [
      {},
      { type: "string" },
      { type: "object", properties: { a: { type: "text" } } },
      { type: "object", properties: { a: { $ref: "https://example.com/schema" } } },
      { type: "object", description: "x".repeat(33_000) },
      { ...deep(20) },
    ]) {
      await expectRefusal(await post({ parameters }), 400, "invalid_request", "parameters");
    }
  });

  test("agents.errors.permission_denied a key without an owner registers nothing", async () => {
    const reply = await app.post("/v1/tools", makeTool(), { key: `${KEY}-ownerless` });
    await expectRefusal(reply, 403, "permission_denied");
  });
});

describe("agents.errors.url_refused", () => {
  test("agents.errors.url_refused an endpoint must be https, on port 443, at a public DNS name", async () => {
    for (const endpoint of [
      ...["http://api.example.com/", "https://api.example.com:8443/", "ftp://api.example.com/"],
      ...["https://localhost/", "https://10.0.0.1/", "https://[::1]/", "https://167772161/"],
      ...["https://intranet/", "https://db.internal/", "https://me:pw@api.example.com/"],
      ...[
        "https://api.example.com/#part",
        "api.example.com",
        "https://",
        "https://a b.example.com",
      ],
      ...[
        "https://api.example.com\u0000/",
        "https://\ud800.example.com/",
        "http://169.254.169.254/",
      ],
    ]) {
      await expectRefusal(await post({ endpoint }), 400, "url_refused", "endpoint");
    }
  });

  test("agents.errors.url_refused a revision is checked by the same rules, after its parameters", async () => {
    const { name } = await register(app, { name: "moving" });
    const { name: _, ...body } = makeTool({ endpoint: "https://10.0.0.1/" });
    const path = `/v1/tools/${name}/revisions`;
    await expectRefusal(await app.post(path, body), 400, "url_refused", "endpoint");
    const both = { ...body, parameters: {} };
    await expectRefusal(await app.post(path, both), 400, "invalid_request", "parameters");
    expect((await readJson(await app.get(`/v1/tools/${name}`))).revision).toBe(1);
    // An omitted field is not checked.
    const none = await app.post("/v1/tools/never_there/revisions", both);
    await expectRefusal(none, 404, "tool_not_found");
  });

  test("addresses that the operator allows are accepted", async () => {
    const { endpoint } = await register(app, {
      ...{ name: "own_machine", endpoint: "http://127.0.0.1:9/x" },
    });
    expect(endpoint).toBe("http://127.0.0.1:9/x");
  });
});

describe("agents.errors.tool_exists", () => {
  test("agents.errors.tool_exists a name can be registered once, whatever became of its tool", async () => {
    await register(app, { name: "only_once" });
    await expectRefusal(await post({ name: "only_once" }), 409, "tool_exists", "name");
    await readJson(await app.post("/v1/tools/only_once/disable", undefined));
    await expectRefusal(await post({ name: "only_once" }), 409, "tool_exists", "name");
    // Another account's name is its own.
    await register(app, { name: "only_once" }, { key: OTHER });
  });

  test("agents.errors.tool_exists names of platform tools are taken, and `connections` is not allowed", async () => {
    const { data } = await readJson(await app.get("/v1/tools", { key: `${KEY}-ownerless` }));
    expect(data.length).toBeGreaterThan(3);
    for (const { name } of data)
      await expectRefusal(await post({ name }), 409, "tool_exists", "name");
    await expectRefusal(await post({ name: "connections" }), 400, "invalid_request", "name");
  });

  test("of concurrent registrations of one name exactly one succeeds", async () => {
    const requests = Array.from({ length: 12 }, () => post({ name: "at_once" }));
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([201, ...new Array(11).fill(409)]);
  });
});

describe("agents.errors.connection_not_found", () => {
  test("agents.errors.connection_not_found a missing connection registers nothing", async () => {
    const fields = { name: "connected", connection_id: NOWHERE };
    await expectRefusal(await post(fields), 404, "connection_not_found", "connection_id");
    expect((await app.get("/v1/tools/connected")).status).toBe(404);
    const { name } = await register(app, { name: "later_connected" });
    const { name: _, ...body } = makeTool({ connection_id: NOWHERE });
    const reply = await app.post(`/v1/tools/${name}/revisions`, body);
    await expectRefusal(reply, 404, "connection_not_found", "connection_id");
    expect((await readJson(await app.get(`/v1/tools/${name}`))).revision).toBe(1);
  });
});

describe("agents.errors.tool_limit_reached", () => {
  test("agents.errors.tool_limit_reached agents.limits.run_admission_trigger_endpoint limits the enabled tools, and disabled ones do not count", async () => {
    const env = { WADI_LIMITS__TOOLS: "2" };
    const small = await startService({ env });
    const add = (name: string) => small.post("/v1/tools", makeTool({ name }));
    const turn = (name: string, verb: string) => small.post(`/v1/tools/${name}/${verb}`, undefined);
    for (const name of ["one", "two"]) await readJson(await add(name), 201);
    await expectRefusal(await add("three"), 409, "tool_limit_reached");
    // A revision is no further tool.
    await revise(small, "two");
    await readJson(await turn("one", "disable"));
    await readJson(await add("three"), 201);
    await expectRefusal(await turn("one", "enable"), 409, "tool_limit_reached");
    // A tool that is already enabled does not count twice.
    await readJson(await turn("two", "enable"));
    // Each account has its own places.
    const reply = await small.post("/v1/tools", makeTool({ name: "one" }), { key: OTHER });
    await readJson(reply, 201);
    await small.stop();
  });
});

describe("agents.endpoints.tools.p1 revisions", () => {
  test("agents.resources.tool agents.endpoints.tools.p1 revisions are numbered from 1, and are complete", async () => {
    const fields = { name: "revised", title: "Revised", risk: "read", timeout_ms: 5_000 };
    const first = await register(app, fields);
    const second = await revise(app, "revised", { description: "Sends it at once." });
    // Fields are not inherited from the latest revision: a call's effect must be stated.
    expect(second).toEqual({
      ...first,
      ...{ revision: 2, description: "Sends it at once.", title: null, risk: "write" },
      timeout_ms: 30_000,
    });
    const { data, next_before } = await readJson(await app.get("/v1/tools/revised/revisions"));
    expect([data, next_before]).toEqual([[second, { ...first, latest: false }], null]);
  });

  test("agents.endpoints.tools.p1 pages of revisions lead back to the first", async () => {
    await register(app, { name: "paged" });
    for (let n = 0; n < 4; n++) await revise(app, "paged");
    const read = async (query: string) => {
      const page = await readJson(await app.get(`/v1/tools/paged/revisions${query}`));
      return [page.data.map(({ revision }: { revision: number }) => revision), page.next_before];
    };
    expect(await read("?limit=2")).toEqual([[5, 4], 4]);
    expect(await read("?limit=2&before=4")).toEqual([[3, 2], 2]);
    expect(await read("?limit=2&before=2")).toEqual([[1], null]);
    expect(await read("?limit=5")).toEqual([[5, 4, 3, 2, 1], null]);
    expect(await read("?before=1")).toEqual([[], null]);
    for (const query of ["?limit=0", "?limit=101", "?before=0", "?before=2147483648"]) {
      const reply = await app.get(`/v1/tools/paged/revisions${query}`);
      await expectRefusal(reply, 400, undefined, query.slice(1, query.indexOf("=")));
    }
  });

  test("concurrent revisions are numbered without a gap", async () => {
    await register(app, { name: "crowded" });
    const made = await Promise.all(Array.from({ length: 10 }, () => revise(app, "crowded")));
    expect(made.map(({ revision }) => revision).toSorted((a, b) => a - b)).toEqual([
      ...[2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    ]);
  });
});
