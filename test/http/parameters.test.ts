// Tests the parameters of a URL: ids of the path, and the query.
import { describe, expect, test } from "bun:test";
import { type TObject, Type } from "@sinclair/typebox";
import { IdParams, Uuid } from "../../src/http/fields.ts";
import { createTestServer, describeRoute } from "./test-server.ts";

const ID = "01920000-0000-7000-8000-00000000000a";

const Query = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
  status: Type.Optional(Type.Union([Type.Literal("queued"), Type.Literal("running")])),
  agent_id: Type.Optional(Uuid("The agent.")),
  after: Type.Optional(Type.Integer()),
  name: Type.Optional(Type.String({ maxLength: 5 })),
  labels: Type.Optional(Type.Object({})),
});

interface RefusalParts {
  error: { message: string; code?: string; param: string | null };
}

/** The parameters that handlers of a few agents routes received. */
function createTrial(ignores_unknown_query?: true) {
  const asked: unknown[] = [];
  const { ask } = createTestServer(
    (router) => {
      const spec = describeRoute<never>();
      router.get("/v1/runs", { ...spec, query: Query, ignores_unknown_query }, ({ query }) => {
        // The schema determines the types of the handler.
        const limit: number | undefined = query.limit;
        asked.push({ limit, ...query });
        return [200, {}];
      });
      router.get("/v1/runs/:id", { ...spec, params: IdParams }, ({ params, query }) => {
        const nothing: undefined = query;
        const id: string = params.id;
        asked.push({ id, nothing });
        return [200, {}];
      });
      const params = Type.Object({ id: Uuid("Its id."), name: Type.String({ maxLength: 5 }) });
      router.get("/v1/tools/:id/of/:name", { ...spec, params }, ({ params }) => {
        asked.push(params);
        return [200, {}];
      });
      router.get("/v1/threads", spec, () => [200, {}]);
    },
    { surface: "agents" },
  );
  const get = async (path: string) => {
    const response = await ask("GET", path);
    const { error } = (await response.json()) as RefusalParts;
    return error ? [response.status, error.code, error.param, error.message] : response.status;
  };
  return { asked, get };
}

const fault = (param: string) => [400, undefined, param, expect.any(String)];
const invalid = (param: string, message: string) => [400, undefined, param, message];

describe("the parameters of a path", () => {
  test("agents.resources.p4 a UUID is accepted in any case, and passed on in lower case", async () => {
    const { get, asked } = createTrial();
    for (const id of [ID, ID.toUpperCase(), ID.replace("a", "%61")]) {
      expect(await get(`/v1/runs/${id}`)).toBe(200);
    }
    expect(asked).toEqual(Array(3).fill({ id: ID, nothing: undefined }));
  });

  test("agents.resources.p4 agents.errors.p9 an invalid UUID is refused by its name", async () => {
    const { get, asked } = createTrial();
    for (const [sent, quoted] of [
      ["mine", "mine"],
      [`${ID}0`, `${ID}0`],
      [ID.replaceAll("-", ""), ID.replaceAll("-", "")],
      [`{${ID.slice(2)}}`, `{${ID.slice(2)}}`],
      [ID.replace("a", "g"), ID.replace("a", "g")],
      ["%20", " "],
      ["a%2Fb", "a/b"],
      ["%E0%A4%A", "%E0%A4%A"],
      [`${ID}%0A`, `${ID}\\n`],
    ]) {
      const says = `\`id\` must be a UUID, but is "${quoted}".`;
      expect(await get(`/v1/runs/${sent}`)).toEqual(invalid("id", says));
    }
    expect(asked).toEqual([]);
  });

  test("several are distinguished and decoded, and the first invalid one is named", async () => {
    const { get, asked } = createTrial();
    expect(await get(`/v1/tools/${ID}/of/a+%C3%A9`)).toBe(200);
    expect(asked).toEqual([{ id: ID, name: "a+é" }]);
    expect(await get("/v1/tools/x/of/much-too-long")).toEqual(fault("id"));
    expect(await get(`/v1/tools/${ID}/of/too-long`)).toEqual(fault("name"));
  });

  test("a schema that does not match the path's parameters is a bug", () => {
    const open = () =>
      createTestServer((router) =>
        router.get("/v1/runs/:run", { ...describeRoute<never>(), params: IdParams }, () => [
          200,
          {},
        ]),
      );
    expect(open).toThrow("other parameters");
  });

  test("the id is checked before the query", async () => {
    const { get } = createTrial();
    expect(await get("/v1/runs/mine?x=1")).toEqual(fault("id"));
  });
});

describe("a query", () => {
  test("is decoded, with numbers for whole numbers and ids in lower case", async () => {
    const { get, asked } = createTrial();
    const upper = ID.toUpperCase();
    expect(await get(`/v1/runs?limit=20&status=queued&agent_id=${upper}&name=a+%C3%A9`)).toBe(200);
    expect(await get("/v1/runs?after=-3&")).toBe(200);
    expect(await get("/v1/runs?")).toBe(200);
    expect(await get("/v1/runs")).toBe(200);
    expect(asked).toEqual([
      { limit: 20, status: "queued", agent_id: ID, name: "a é" },
      { limit: undefined, after: -3 },
      { limit: undefined },
      { limit: undefined },
    ]);
  });

  test("agents.errors.p4 agents.errors.p5 is refused by its schema with the parameter's name, without a code", async () => {
    const { get } = createTrial();
    const whole = "`limit` must be a whole number from 1 to 200, but is";
    for (const [sent, quoted] of [
      ["0", "0"],
      ["201", "201"],
      ["-1", "-1"],
      ["", '""'],
      ["ten", '"ten"'],
      ["1.5", '"1.5"'],
      ["1e2", '"1e2"'],
      ["0x10", '"0x10"'],
      ["%201", '" 1"'],
      ["1234567890123456", '"1234567890123456"'],
      ["Infinity", '"Infinity"'],
    ]) {
      expect(await get(`/v1/runs?limit=${sent}`)).toEqual(invalid("limit", `${whole} ${quoted}.`));
    }
    expect(await get("/v1/runs?status=lost")).toEqual(fault("status"));
    expect(await get("/v1/runs?agent_id=1")).toEqual(fault("agent_id"));
    expect(await get("/v1/runs?name=abcdef")).toEqual(fault("name"));
  });

  test("has each parameter once", async () => {
    const { get } = createTrial();
    const says = invalid("limit", "`limit` must be sent once.");
    expect(await get("/v1/runs?limit=1&limit=1")).toEqual(says);
    expect(await get("/v1/runs?limit=1&%6Cimit=2")).toEqual(says);
  });

  test("has an object as its parts, each once, and never as a text beside them", async () => {
    const { get, asked } = createTrial();
    expect(await get("/v1/runs?labels[a]=1&labels[length]=2&labels[__proto__]=3")).toBe(200);
    expect(JSON.stringify(asked)).toBe('[{"labels":{"a":"1","length":"2","__proto__":"3"}}]');
    const once = (name: string) => invalid(name, `\`${name}\` must be sent once.`);
    expect(await get("/v1/runs?labels[a]=1&labels[a]=1")).toEqual(once("labels[a]"));
    const long = `labels[${"a".repeat(60)}]`;
    const cut = await get(`/v1/runs?${long}=1&${long}=1`);
    expect(cut).toEqual(once(`${long.slice(0, 64)}…`));
    expect(await get("/v1/runs?labels=x&labels[a]=1")).toEqual(once("labels"));
    expect(await get("/v1/runs?labels[a]=1&labels=x")).toEqual(once("labels"));
    expect(await get("/v1/runs?labels=x")).toEqual(fault("labels"));
    expect(await get("/v1/runs?name[a]=1")).toEqual(fault("name[a]"));
  });

  test("agents.errors.p9 refuses parameters that its route does not know", async () => {
    const { get } = createTrial();
    for (const name of ["colour", "Limit", "constructor", "__proto__", ""]) {
      const says = invalid(name, `\`${name}\` is not a parameter of this route.`);
      expect(await get(`/v1/runs?${name}=1`)).toEqual(says);
    }
    // A known invalid parameter is named first.
    expect(await get("/v1/runs?colour=1&limit=0")).toEqual(fault("limit"));
    const long = "x".repeat(65);
    expect(await get(`/v1/runs?${long}=1`)).toEqual(fault(`${"x".repeat(64)}…`));
  });

  test("agents.errors.p9 is refused by a route without parameters", async () => {
    const { get } = createTrial();
    expect(await get("/v1/threads?limit=1")).toEqual(fault("limit"));
    expect(await get(`/v1/runs/${ID}?limit=1`)).toEqual(fault("limit"));
    expect(await get("/v1/threads?")).toBe(200);
  });

  test("may have any content if its route ignores it", async () => {
    const { get, asked } = createTrial(true);
    expect(await get("/v1/runs?colour=1&limit=3&colour=2")).toBe(200);
    expect(asked).toEqual([{ limit: 3 }]);
    expect(await get("/v1/runs?limit=1&limit=2")).toEqual(fault("limit"));
  });

  test("is ignored in the gateway, unless a route reads one", async () => {
    const open = (query?: TObject) =>
      createTestServer((router) =>
        router.get("/v1/models", { ...describeRoute<never>(), query }, ({ query }) => [200, query]),
      );
    expect((await open().ask("GET", "/v1/models?x=1")).status).toBe(200);
    expect((await open(Query).ask("GET", "/v1/models?limit=0")).status).toBe(400);
  });
});

test("an id in a body is passed on in lower case as well", async () => {
  const Body = Type.Object({ thread_id: Type.Optional(Type.Union([Uuid("It."), Type.Null()])) });
  const { ask } = createTestServer(
    (router) => router.post("/v1/runs", describeRoute(Body), ({ body }) => [200, body]),
    { surface: "agents" },
  );
  for (const [sent, got] of [
    [{ thread_id: ID.toUpperCase() }, { thread_id: ID }],
    [{ thread_id: null }, { thread_id: null }],
    [{}, {}],
  ]) {
    const response = await ask("POST", "/v1/runs", { body: JSON.stringify(sent) });
    expect(await response.json()).toEqual(got);
  }
});
