// Validation by JSON Schema 2020-12, keyword by keyword, and the messages of faults.
import { describe, expect, test } from "bun:test";
import { createSchemaCheck } from "../../../../src/agents/tools/json-schema/check.ts";
import type { Parameters } from "../../../../src/agents/tools/json-schema/parameters.ts";
import { inlineCompute } from "../../../support/compute.ts";
import { check, fill, findIn } from "./schemas.ts";

/** The fields of a schema as JSON text, with valid and invalid values. */
type Line = [fields: string, fits: string[], breaks: string[]];

const lines: Line[] = [
  ['"type":"string"', ['"a"'], ["1", "null", "[]", "{}"]],
  ['"type":"integer"', ["1", "1.0", "-0", "1e3"], ["1.5", '"1"', "true"]],
  ['"type":"number"', ["1.5"], ['"1.5"', "null"]],
  ['"type":"null"', ["null"], ["0", "false", '""']],
  ['"type":["boolean","array"]', ["true", "[]"], ["{}", "0"]],
  ['"const":{"a":[1,{"b":2,"c":3}]}', ['{"a":[1,{"c":3,"b":2}]}'], ['{"a":[1,{"b":2}]}', "null"]],
  ['"const":false', ["false"], ["0", "null", '""']],
  ['"const":1', ["1", "1.0"], ["true", '"1"']],
  ['"const":{"$id":"a","$ref":"b"}', ['{"$ref":"b","$id":"a"}'], ["{}", '{"$id":"a"}']],
  [
    '"enum":[1,"a",null,[0],{"$id":"x"}]',
    ["1", "null", "[0]", '{"$id":"x"}'],
    ['"1"', "[1]", "{}"],
  ],
  ['"minimum":1,"maximum":2', ["1", "2", '"0"'], ["0.99", "2.01"]],
  ['"exclusiveMinimum":1,"exclusiveMaximum":2', ["1.5"], ["1", "2"]],
  ['"multipleOf":0.01', ["19.99", "0.07", "4.35", "0", "1e22"], ["19.995", "0.001"]],
  ['"multipleOf":3', ["9", "-3", "9007199254740993e3"], ["10", "1.5"]],
  ['"multipleOf":1e-8', ["12391239123", "0.00000003"], ["0.000000015"]],
  ['"multipleOf":0.5', ["1e308", "-2.5"], ["0.3", "5e-324"]],
  ['"minLength":2,"maxLength":3', ['"ab"', '"🐪🐪🐪"', "1"], ['"🐪"', '"abcd"', '"🐪🐪🐪🐪"']],
  ['"minItems":1,"maxItems":2', ["[1]", "[1,2]", "{}"], ["[]", "[1,2,3]"]],
  [
    '"uniqueItems":true',
    ["[1,true]", '[{"a":1},{"a":2}]'],
    ["[1,1.0]", '[{"a":1,"b":2},{"b":2,"a":1}]'],
  ],
  ['"minProperties":1,"maxProperties":1', ['{"a":1}', "[]"], ["{}", '{"a":1,"b":2}']],
  [
    '"required":["a","__proto__","toString"]',
    ['{"a":1,"__proto__":2,"toString":3}'],
    ['{"a":1}', '{"a":1,"toString":1}'],
  ],
  ['"dependentRequired":{"a":["b"]}', ["{}", '{"b":1}', '{"a":1,"b":2}'], ['{"a":1}']],
  ['"dependentSchemas":{"a":{"minProperties":2}}', ["{}", '{"a":1,"b":2}'], ['{"a":1}']],
  [
    '"properties":{"a":{"type":"string"},"b":false}',
    ["{}", '{"a":"x","c":1}', "1"],
    ['{"a":1}', '{"b":1}'],
  ],
  [
    '"properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}',
    ["{}", '{"__proto__":"a","constructor":"b"}'],
    ['{"__proto__":1}', '{"constructor":1}'],
  ],
  [
    '"patternProperties":{"^a":{"type":"string"},"z$":false}',
    ['{"a":"x","b":1}'],
    ['{"ab":1}', '{"z":1}'],
  ],
  ['"additionalProperties":false', ["{}", "[1]"], ['{"a":1}', '{"__proto__":1}', '{"toString":1}']],
  [
    '"properties":{"a":true,"a.c":true},"patternProperties":{"^b":true},"additionalProperties":{"type":"null"}',
    ['{"a":1,"a.c":2,"bc":3,"d":null}'],
    ['{"abc":1}', '{"d":1}', '{"aa":1}'],
  ],
  ['"propertyNames":{"maxLength":2}', ['{"ab":1}', "{}"], ['{"abc":1}']],
  ['"items":{"type":"number"}', ["[]", "[1,2]", '"a"'], ['[1,"a"]']],
  ['"prefixItems":[{"type":"number"},true],"items":false', ["[]", '[1,"a"]'], ['["a"]', "[1,2,3]"]],
  ['"contains":{"const":1}', ["[1]", "[0,1]", "{}"], ["[]", "[0]"]],
  [
    '"contains":{"const":1},"minContains":2,"maxContains":3',
    ["[1,1]", "[0,1,1,1]"],
    ["[1]", "[1,1,1,1]"],
  ],
  ['"contains":{"const":1},"minContains":0', ["[]", "[0]"], []],
  ['"allOf":[{"minimum":1},{"maximum":2}]', ["1"], ["0", "3"]],
  ['"anyOf":[{"minimum":5},{"type":"string"}]', ["5", '"a"'], ["4"]],
  ['"oneOf":[{"minimum":1},{"maximum":3}]', ["0", "4"], ["2"]],
  ['"not":{"type":"string"}', ["1"], ['"a"']],
  ['"if":{"minimum":10},"then":{"multipleOf":10},"else":{"maximum":5}', ["20", "5"], ["15", "7"]],
  ['"then":false,"else":false', ["1"], []],
  ['"properties":{"a":true},"unevaluatedProperties":false', ['{"a":1}'], ['{"a":1,"b":2}']],
  [
    '"anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":true},"required":["b"]}],"patternProperties":{"^x":true},"unevaluatedProperties":false',
    ['{"a":1}', '{"b":1,"x1":2}', '{"a":1,"b":2}'],
    ['{"a":1,"c":2}', '{"a":2,"b":1}'],
  ],
  [
    '"allOf":[{"additionalProperties":{"type":"string"}}],"unevaluatedProperties":false',
    ['{"a":"b"}'],
    ['{"a":1}'],
  ],
  [
    '"prefixItems":[true],"contains":{"const":1},"unevaluatedItems":false',
    ["[0,1,1]"],
    ["[0,1,2]", "[0]"],
  ],
  ['"$ref":"#/$defs/a","maximum":5,"$defs":{"a":{"minimum":2}}', ["3"], ["1", "6"]],
  [
    '"$ref":"https://a.example/b#c","$defs":{"x":{"$id":"https://a.example/b","$defs":{"y":{"$anchor":"c","type":"string"}}}}',
    ['"a"'],
    ["1"],
  ],
  ['"$ref":"#/$defs/a~1b%20%25%C3%A9~0","$defs":{"a/b %é~":{"type":"string"}}', ['"a"'], ["1"]],
  ['"$ref":"#/$defs/a~01","$defs":{"a~1":{"type":"string"}}', ['"a"'], ["1"]],
  [
    // A list of strings extends a list of anything: the outer anchor wins.
    '"$id":"texts","$ref":"list","$defs":{"t":{"$dynamicAnchor":"item","type":"string"},"l":{"$id":"list","items":{"$dynamicRef":"#item"},"$defs":{"any":{"$dynamicAnchor":"item"}}}}',
    ['["a"]', "[]"],
    ["[1]"],
  ],
  [
    '"$ref":"#/$defs/tree","$defs":{"tree":{"properties":{"n":{"type":"number"},"in":{"items":{"$ref":"#/$defs/tree"}}},"additionalProperties":false}}',
    ['{"n":1,"in":[{"in":[{"n":2}]}]}'],
    ['{"n":1,"in":[{"in":[{"n":"2"}]}]}', '{"in":[{"m":1}]}'],
  ],
  [
    '"$comment":"x","title":"x","examples":[],"contentMediaType":"a/b","format":"uuid"',
    ['"a"'],
    [],
  ],
];

describe("validates a value", () => {
  test.each(lines)("{%s}", async (fields, fits, breaks) => {
    // Nested under a property and an id, so that arguments can be values of any type.
    const id = fields.startsWith('"$id"') ? "" : '"$id":"here",';
    const parameters = JSON.parse(`{"type":"object","properties":{"value":{${id}${fields}}}}`);
    expect(await check(parameters)).toBe(null);
    const find = (value: string) => findIn(parameters, JSON.parse(`{"value":${value}}`));
    for (const value of fits) expect([value, await find(value)]).toEqual([value, []]);
    for (const value of breaks) expect([value, await find(value)]).not.toEqual([value, []]);
  });
});

describe("describes a fault", () => {
  test.each<[string, string, string[]]>([
    ['"type":"integer"', "1.5", ["/value: must be an integer."]],
    ['"type":["string","null","array"]', "1", ["/value: must be a string, null or an array."]],
    ['"const":{"b":1,"a":2}', "1", ['/value: must be {"a":2,"b":1}.']],
    ['"enum":["a","b",3]', "1", ['/value: must be one of "a", "b" or 3.']],
    ['"minimum":1', "0", ["/value: must be at least 1."]],
    ['"maximum":1', "2", ["/value: must be at most 1."]],
    ['"exclusiveMinimum":1', "1", ["/value: must be more than 1."]],
    ['"exclusiveMaximum":1', "1", ["/value: must be less than 1."]],
    ['"multipleOf":0.5', "0.3", ["/value: must be a multiple of 0.5."]],
    ['"minLength":1', '""', ["/value: must have a length of at least 1 character."]],
    ['"maxLength":2', '"abc"', ["/value: must have a length of at most 2 characters."]],
    ['"pattern":"^a"', '"b"', ["/value: must match the pattern ^a."]],
    ['"minItems":1', "[]", ["/value: must have at least 1 item."]],
    ['"maxItems":1', "[1,2]", ["/value: must have at most 1 item."]],
    ['"uniqueItems":true', "[1,1]", ["/value: must have no item twice."]],
    ['"minProperties":2', "{}", ["/value: must have at least 2 fields."]],
    ['"maxProperties":0', '{"a":1}', ["/value: must have at most 0 fields."]],
    ['"required":["a","b","c"]', '{"b":1}', ['/value: must have the field "a" and "c".']],
    [
      '"dependentRequired":{"x":["y"],"a":["b","c"]}',
      '{"a":1,"b":1}',
      ['/value: must have the field "c", since it has "a".'],
    ],
    ['"additionalProperties":false', '{"a/b":1}', ["/value/a~1b: Unexpected property."]],
    ['"prefixItems":[true],"items":false', "[1,2]", ["/value/1: Unexpected item."]],
    ['"items":{"type":"string"}', '["a",1]', ["/value/1: must be a string."]],
    [
      '"propertyNames":{"maxLength":1}',
      '{"ab":1}',
      ["/value/ab: The field's name must have a length of at most 1 character."],
    ],
    [
      '"contains":{"type":"string"}',
      "[1]",
      ["/value: must have at least 1 item of the kind that is asked for."],
    ],
    [
      '"contains":{"type":"string"},"maxContains":2',
      "[1]",
      ["/value: must have 1 to 2 items of the kind that is asked for."],
    ],
    ['"not":{"type":"string"}', '"a"', ["/value: must not be what is ruled out here."]],
    [
      '"oneOf":[{"type":"number"},{"type":"integer"}]',
      "1",
      ["/value: must fit exactly one of the alternatives."],
    ],
    [
      '"anyOf":[{"type":"string","const":"x"},{"required":["a"]},{"type":"null","const":null}]',
      "{}",
      ["/value: must fit at least one of the alternatives.", '/value: must have the field "a".'],
    ],
    [
      '"if":{"required":["a"]},"then":{"required":["b"]}',
      '{"a":1}',
      ['/value: must have the field "b".'],
    ],
    [
      '"allOf":[{"minimum":5},{"minimum":5},{"multipleOf":2}]',
      "1",
      ["/value: must be at least 5.", "/value: must be a multiple of 2."],
    ],
    [
      '"items":{"type":"string"}',
      "[1,2,3,4,5,6,7]",
      [0, 1, 2, 3, 4].map((n) => `/value/${n}: must be a string.`),
    ],
  ])("{%s} says of %s: %j", async (fields, value, says) => {
    const parameters = JSON.parse(`{"type":"object","properties":{"value":{${fields}}}}`);
    expect(await findIn(parameters, JSON.parse(`{"value":${value}}`))).toEqual(says);
  });

  test("a fault of the arguments as a whole names them", async () => {
    expect(await findIn({ type: "object", required: ["city"] }, {})).toEqual([
      'The arguments: must have the field "city".',
    ]);
  });

  test("cuts long lists and words", async () => {
    const parameters = {
      type: "object",
      properties: { a: { enum: fill(50, (n) => `${n}`.repeat(99)) } },
    };
    const [fault = ""] = await findIn(parameters, { a: 1 });
    expect(fault).toEndWith("… or 30 others.");
    expect(fault.length).toBeLessThan(2_000);
  });
});

describe("compiled schemas", () => {
  test("a schema that cannot be compiled is reported, not thrown", async () => {
    expect(await findIn({ type: "object", allOf: 5 }, {})).toEqual([
      expect.stringMatching(/^`parameters` cannot be read as a JSON Schema \(/),
    ]);
    expect(await findIn({ type: "object", $ref: "#/$defs/a" }, {})).toEqual([
      expect.stringMatching(/must lead to/),
    ]);
  });

  test("many different schemas with patterns each validate by their own", async () => {
    const all: Parameters[] = fill(300, (n) => ({
      type: "object",
      properties: { a: { pattern: `^${n}$` } },
    }));
    for (const parameters of all) await findIn(parameters, {});
    for (const [n, parameters] of all.entries()) {
      expect(await findIn(structuredClone(parameters), { a: `${n}` })).toEqual([]);
      expect(await findIn(parameters, { a: `${n + 1}` })).toHaveLength(1);
    }
  });

  test("no code is generated from a schema", async () => {
    const { eval: evaluate, Function: Constructor } = globalThis;
    let made = 0;
    const refuse = () => {
      made++;
      throw new Error("code");
    };
    Object.assign(globalThis, { eval: refuse, Function: refuse });
    try {
      const parameters = {
        type: "object",
        properties: { a: { pattern: "^a", enum: ["a"], anyOf: [{ minLength: 1 }] } },
        unevaluatedProperties: false,
      };
      expect(await check(parameters)).toBe(null);
      expect(await findIn(parameters, { a: "b", b: 1 })).toHaveLength(3);
    } finally {
      Object.assign(globalThis, { eval: evaluate, Function: Constructor });
    }
    expect(made).toBe(0);
  });
});

test("a fault names the field that has the schema, with the place inside it", async () => {
  const check = createSchemaCheck(inlineCompute);
  const properties = { a: { $ref: "https://x.example/s" } };
  expect(await check({ type: "object", properties }, "a-1", "output_schema")).toStartWith(
    "`output_schema/properties/a/$ref` ",
  );
});
