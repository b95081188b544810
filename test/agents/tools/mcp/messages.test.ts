// The forms of the protocol: messages, event streams, and schemas of an older draft.
import { describe, expect, test } from "bun:test";
import { readTools } from "../../../../src/agents/tools/mcp/definition.ts";
import { rewriteSchema } from "../../../../src/agents/tools/mcp/draft7.ts";
import { EventReader, readMessage } from "../../../../src/agents/tools/mcp/messages.ts";
import { readTaskId } from "../../../../src/agents/tools/mcp/tasks.ts";
import { openTarget } from "../../../../src/agents/tools/mcp/tool.ts";
import { sendRequest } from "../../../../src/agents/tools/mcp/transport.ts";
import {
  type McpTarget,
  writeParameters,
  writeStateless,
} from "../../../../src/agents/tools/mcp/wire.ts";
import { createManualClock } from "../../../support/clock.ts";

describe("a message", () => {
  test.each([
    ['{"jsonrpc":"2.0","id":1,"result":{"a":1}}', { answer: { id: 1, result: { a: 1 } } }],
    ['{"jsonrpc":"2.0","id":"x","result":{}}', { answer: { id: "x", result: {} } }],
    [
      '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"No."}}',
      { answer: { id: 1, error: { code: -1, message: "No." } } },
    ],
    ['{"jsonrpc":"2.0","error":{"code":-1}}', { answer: { id: null, error: { code: -1 } } }],
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}', { kind: "request", id: 1, method: "ping" }],
    ['{"jsonrpc":"2.0","method":"n"}', { kind: "notification", method: "n" }],
  ])("%s is read", (text, message) => {
    expect(readMessage(text)).toMatchObject(message as never);
  });

  test.each([
    "",
    "null",
    "7",
    "[]",
    '[{"jsonrpc":"2.0","id":1,"result":{}}]',
    '{"id":1,"result":{}}',
    '{"jsonrpc":"1.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":1,"result":[]}',
    '{"jsonrpc":"2.0","id":1,"result":null}',
    '{"jsonrpc":"2.0","id":{},"result":{}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}',
    '{"jsonrpc":"2.0","id":1,"error":"x"}',
  ])("%p is none", (text) => {
    expect(readMessage(text)).toBeUndefined();
  });
});

describe("an event stream", () => {
  const STREAM =
    ": a comment\r\n\r\nid: 7\r\nretry: 250\r\ndata: grüß\r\n\r\n" +
    "event: message\ndata: a\ndata:b\n\ndata\n\nid: bad id\nretry: soon\ndata: last\n\ndata: cut";

  test("gives the same events in pieces of any size", () => {
    const bytes = new TextEncoder().encode(STREAM);
    for (let size = 1; size <= bytes.length; size++) {
      const reader = new EventReader();
      const events: string[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        events.push(...reader.push(bytes.subarray(at, at + size)));
      }
      expect(events).toEqual(["grüß", "a\nb", "", "last"]);
      expect([reader.lastId, reader.retryMs]).toEqual(["7", 250]);
    }
  });
});

test("an id of an event is read up to 1,024 characters, and a wait up to nine digits", () => {
  const read = (line: string) => {
    const reader = new EventReader();
    reader.push(new TextEncoder().encode(`${line}\n\n`));
    return reader.lastId ?? reader.retryMs;
  };
  const longest = "e".repeat(1_024);
  expect([read(`id: ${longest}`), read(`id: ${longest}e`)]).toEqual([longest, null]);
  expect([read(`retry: ${"9".repeat(9)}`), read(`retry: ${"9".repeat(10)}`)]).toEqual([
    ...[999_999_999, null],
  ]);
});

describe("a schema of draft-07", () => {
  const $schema = "http://json-schema.org/draft-07/schema#";

  test("means the same in 2020-12", () => {
    const schema = {
      ...{ $schema, type: "object" },
      properties: {
        pair: { type: "array", items: [{ type: "string" }, true], additionalItems: false },
        list: { type: "array", items: { $ref: "#/definitions/one", minLength: 9 } },
        loose: { type: "array", additionalItems: { type: "null" } },
      },
      dependencies: { a: ["b"], c: { properties: { d: { items: [{}] } } } },
      definitions: { one: { type: "string" } },
      anyOf: [{ items: [{}] }],
    };
    expect(rewriteSchema(schema)).toEqual({
      type: "object",
      properties: {
        pair: { type: "array", prefixItems: [{ type: "string" }, true], items: false },
        list: { type: "array", items: { $ref: "#/definitions/one" } },
        loose: { type: "array" },
      },
      dependentRequired: { a: ["b"] },
      dependentSchemas: { c: { properties: { d: { prefixItems: [{}] } } } },
      definitions: { one: { type: "string" } },
      anyOf: [{ prefixItems: [{}] }],
    });
  });

  test("is rewritten only where it says so, and data in it is not a schema", () => {
    const other = { type: "object", properties: { a: { items: [{}] } } };
    expect(rewriteSchema(other)).toBe(other);
    const data = { items: [{}] };
    const schema = { $schema, type: "object", const: data, default: data, enum: [data] };
    const { $schema: _, ...same } = schema;
    expect(rewriteSchema(schema)).toEqual(same);
  });
});

describe("headers of a stateless request", () => {
  test("carry any name and argument in a form that breaks no header", () => {
    for (const text of ["a\r\nb: c", "ä", " a", "a ", "", "=?base64?YQ==?=", "\u0000"]) {
      const { "mcp-name": name } = writeStateless("tools/call", text);
      expect(name).toBe(`=?base64?${Buffer.from(text).toString("base64")}?=`);
    }
    expect(writeStateless("tools/call", "a b")["mcp-name"]).toBe("a b");
    expect(writeStateless("tools/list", undefined)).not.toHaveProperty("mcp-name");
  });

  test("hold the arguments that the schema names, and nothing else", () => {
    const schema = {
      properties: {
        a: { "x-mcp-header": "A" },
        b: { properties: { c: { "x-mcp-header": "Deep" } } },
        d: { "x-mcp-header": "Evil: x\r\n" },
        e: { "x-mcp-header": "Object" },
        f: { "x-mcp-header": "Long" },
        g: { "x-mcp-header": "Absent" },
      },
    };
    const args = { a: true, b: { c: 7 }, d: "x", e: {}, f: "x".repeat(2_000), h: "x" };
    expect(writeParameters(schema, args)).toEqual({ "mcp-param-a": "true", "mcp-param-deep": "7" });
    expect(writeParameters(null, args)).toEqual({});
  });

  test("hold 32 arguments of 1,024 characters at most, whose names have 64", () => {
    const countOf = (names: string[], value: unknown) => {
      const named = names.map((name) => [name, { "x-mcp-header": name }] as const);
      const args = Object.fromEntries(names.map((name) => [name, value]));
      return Object.keys(writeParameters({ properties: Object.fromEntries(named) }, args)).length;
    };
    const names = Array.from({ length: 33 }, (_, n) => `n${n}`);
    expect([countOf(names.slice(1), 1), countOf(names, 1)]).toEqual([32, 32]);
    expect([1_024, 1_025].map((size) => countOf(["a"], "x".repeat(size)))).toEqual([1, 0]);
    expect([64, 65].map((size) => countOf(["a".repeat(size)], 1))).toEqual([1, 0]);
  });

  test("are of arguments up to 16 objects deep", () => {
    const nest = (depth: number) => {
      let [schema, args]: [object, unknown] = [{ "x-mcp-header": "Deep" }, 1];
      for (let n = 0; n < depth; n++) [schema, args] = [{ properties: { a: schema } }, { a: args }];
      return Object.keys(writeParameters(schema, args));
    };
    expect([nest(16), nest(17)]).toEqual([["mcp-param-deep"], []]);
  });
});

describe("a listed tool", () => {
  const read = async (listed: object) => {
    const tool = { name: "t", inputSchema: { type: "object" }, ...listed };
    const { definitions, skipped } = await readTools([tool], "far", "a", async () => null);
    return definitions[0] ?? skipped[0];
  };

  test("keeps hints of 2,048 characters, and loses longer ones", async () => {
    const hint = (size: number) => ({ annotations: { a: "x".repeat(size - 8) } });
    expect(await read(hint(2_048))).toMatchObject(hint(2_048));
    expect(await read(hint(2_049))).toMatchObject({ annotations: {} });
  });

  test("has a title of 256 and a description of 4,096 characters at most", async () => {
    const [title, description] = ["x".repeat(255), "x".repeat(4_095)];
    expect(await read({ title, description })).toMatchObject({ title, description });
    const longer = await read({ title: `${title}xx`, description: `${description}xx` });
    expect(longer).toMatchObject({ title: `${title}…`, description: `${description}…` });
  });

  test("has a name that makes 64 characters with that of its server", async () => {
    expect(await read({ name: "a".repeat(60) })).toMatchObject({ name: `far_${"a".repeat(60)}` });
    const { problem } = (await read({ name: "a".repeat(61) })) as { problem: string };
    expect(problem).toStartWith("Its name here would be longer than 64 characters");
  });
});

test("a stream that ends a hundred times is resumed, and no more", async () => {
  const clock = createManualClock();
  let asked = 0;
  const head = { header: () => "text/event-stream" } as never;
  const egress = {
    async request({ readPiece }: { readPiece(bytes: Uint8Array, head: never): boolean }) {
      asked++;
      readPiece(new TextEncoder().encode(`id: ${asked}\nretry: 1\n\n`), head);
      const headers = new Headers({ "content-type": "text/event-stream" });
      return { ok: true, status: 200, headers, body: new Uint8Array(), truncated: false };
    },
  };
  const send = { url: "https://far.example.com/mcp", headers: {}, timeoutMs: 60_000 };
  const answer = sendRequest({ egress, clock } as never, { ...send, message: { id: 1 } });
  let isOver = false;
  void answer.finally(() => {
    isOver = true;
  });
  while (!isOver) await clock.advance(100);
  expect(await answer).toMatchObject({ ok: false, code: "no_answer" });
  expect(asked).toBe(101);
});

test("accounts, connections and addresses share no session with a server", async () => {
  const connection = { kind: "bearer", header_name: null, secret: "canary" };
  const openConnection = (async () => ({ ok: true, connection })) as never;
  const nameOf = async (account_id: string, connection_id: string | null, path = "") => {
    const url = `https://far.example.com/${path}`;
    const opened = await openTarget({ url, account_id, connection_id }, { openConnection });
    return (opened as McpTarget).session;
  };
  const names = [
    ...[await nameOf("a", null), await nameOf("b", null), await nameOf("a", null, "mcp")],
    ...[await nameOf("a", "c"), await nameOf("b", "c"), await nameOf("a", "d")],
  ];
  expect(new Set(names).size).toBe(6);
});

test("an id with the secret of its connection is not kept, nor one of 257 characters", () => {
  const longest = "x".repeat(256);
  expect([readTaskId(longest, "canary"), readTaskId(`${longest}x`, null)]).toEqual([longest, null]);
  expect([readTaskId("a-canary-b", "canary"), readTaskId("a-canary-b", null)]).toEqual([
    ...[null, "a-canary-b"],
  ]);
});
