// The forms of the protocol: messages, event streams, and schemas of an older draft.
import { describe, expect, test } from "bun:test";
import { rewriteSchema } from "../../../../src/agents/tools/mcp/draft7.ts";
import { EventReader, readMessage } from "../../../../src/agents/tools/mcp/messages.ts";
import { writeParameters, writeStateless } from "../../../../src/agents/tools/mcp/wire.ts";

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
});
