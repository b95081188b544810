// Every field of a chat request: accepted and refused values, and what the model server receives.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { KEY } from "../../support/app.ts";
import { expectRefusal, type Front, startFront } from "./front.ts";

const MESSAGES = [{ role: "user", content: "Hello" }];
const TOOL = { type: "function", function: { name: "add", description: "Adds.", parameters: {} } };
const text = (length: number, letter = "x") => letter.repeat(length);

let front: Front;
beforeAll(async () => {
  front = await startFront();
});
afterAll(() => front.stop());

const send = (fields: object, key = KEY) => front.send({ messages: MESSAGES, ...fields }, { key });

/** The body that the model server gets for these fields, without what every request has. */
async function forward(fields: object): Promise<Record<string, unknown>> {
  const response = await send(fields);
  expect([fields, response.status]).toEqual([fields, 201]);
  const { model, messages, max_tokens, ...rest } = front.last().body;
  return rest;
}

const sameAs = (name: string, values: unknown[]) =>
  values.map((value): [object, object] => [{ [name]: value }, { [name]: value }]);
const asNone = (name: string, values: unknown[]) =>
  values.map((value): [object, object] => [{ [name]: value }, {}]);

describe("accepts, and forwards to the model server:", () => {
  const CASES: [rules: string, cases: [sent: object, forwarded: object][]][] = [
    [
      "gateway.endpoints.chat_completions.temperature 0 to 2",
      sameAs("temperature", [0, 0.001, 1, 2]),
    ],
    ["gateway.endpoints.chat_completions.top_p 0 to 1", sameAs("top_p", [0.001, 0.5, 1])],
    [
      "gateway.endpoints.chat_completions.top_p 0 selects the most likely token only",
      [
        [{ top_p: 0 }, { temperature: 0 }],
        [{ top_p: 0, temperature: 1.5 }, { temperature: 0 }],
      ],
    ],
    [
      "gateway.endpoints.chat_completions.presence_penalty -2 to 2",
      sameAs("presence_penalty", [-2, -0.5, 0, 2]),
    ],
    [
      "gateway.endpoints.chat_completions.frequency_penalty -2 to 2",
      sameAs("frequency_penalty", [-2, -0.5, 0, 2]),
    ],
    ["gateway.endpoints.chat_completions.seed any integer", sameAs("seed", [0, -1, 42, 2 ** 40])],
    [
      "gateway.endpoints.chat_completions.stop gateway.limits.stop a string or up to 4, each up to 256 characters",
      [
        [{ stop: "a" }, { stop: ["a"] }],
        [{ stop: text(256) }, { stop: [text(256)] }],
        [{ stop: text(256, "😀") }, { stop: [text(256, "😀")] }],
        [{ stop: ["a", "b", "c", text(256)] }, { stop: ["a", "b", "c", text(256)] }],
      ],
    ],
    [
      "gateway.endpoints.chat_completions.2 null is the same as leaving it out",
      [
        ...asNone("top_p", [null]),
        ...asNone("presence_penalty", [null]),
        ...asNone("frequency_penalty", [null]),
        ...asNone("seed", [null]),
        ...asNone("stop", [null]),
        ...asNone("stream_options", [null]),
        ...asNone("user", [null]),
        ...asNone("reasoning", [null]),
        ...asNone("think", [null]),
      ],
    ],
    [
      "gateway.endpoints.chat_completions.2 an empty stop or user is none",
      [...asNone("stop", ["", []]), ...asNone("user", [""])],
    ],
    [
      "gateway.endpoints.chat_completions.1 false is always accepted",
      [...asNone("reasoning", [false]), ...asNone("think", [false])],
    ],
    [
      "gateway.endpoints.chat_completions.user gateway.limits.user up to 256 characters, never sent to the model",
      asNone("user", ["u", text(256), text(256, "😀")]),
    ],
    [
      "gateway.endpoints.chat_completions.3 gateway.versioning.4 fields that are not listed are ignored",
      [
        ...asNone("reasoning_effort", ["high", 5]),
        ...asNone("n", [3]),
        ...asNone("max_completion_tokens", [5]),
        ...asNone("response_format", [{ type: "json_object" }]),
        ...asNone("logprobs", [true]),
        ...asNone("store", [true]),
        ...asNone("metadata", [{ a: "b" }]),
        ...asNone("parallel_tool_calls", [false]),
        ...asNone("chat_template_kwargs", [{ enable_thinking: true }]),
        ...asNone("stream_option", [{}]),
        ...asNone("constructor", [{}]),
      ],
    ],
    [
      "gateway.endpoints.chat_completions.tools gateway.resources.tool.p1 functions with a name, a description and a schema",
      [
        [{ tools: [TOOL] }, { tools: [TOOL] }],
        [{ tools: [] }, {}],
        [
          { tools: [{ type: "function", function: { name: "add" } }] },
          { tools: [{ type: "function", function: { name: "add" } }] },
        ],
        [
          {
            tools: [
              { type: "function", function: { name: "add", description: null, parameters: null } },
            ],
          },
          { tools: [{ type: "function", function: { name: "add" } }] },
        ],
        [
          { tools: [{ ...TOOL, cache: true, function: { ...TOOL.function, strict: true } }] },
          { tools: [TOOL] },
        ],
        [
          { tools: [{ type: "function", function: { name: `a.B_-${text(123)}` } }] },
          { tools: [{ type: "function", function: { name: `a.B_-${text(123)}` } }] },
        ],
      ],
    ],
    [
      "gateway.endpoints.chat_completions.tool_choice auto, none, required or one function by its name",
      [
        ...["auto", "none", "required", { type: "function", function: { name: "add" } }].map(
          (tool_choice): [object, object] => [
            { tools: [TOOL], tool_choice },
            { tools: [TOOL], tool_choice },
          ],
        ),
        [{ tool_choice: "auto" }, {}],
        [{ tool_choice: "none", tools: [] }, {}],
      ],
    ],
  ];
  for (const [title, cases] of CASES) {
    test(title, async () => {
      for (const [sent, forwarded] of cases) {
        expect([sent, await forward(sent)]).toEqual([sent, forwarded as Record<string, unknown>]);
      }
    });
  }

  test("gateway.endpoints.chat_completions.seed a value out of range is always replaced by the same seed", async () => {
    const first = await forward({ seed: 1e300 });
    expect(Number.isSafeInteger(first.seed)).toBe(true);
    expect(await forward({ seed: 1e300 })).toEqual(first);
  });
});

describe("refuses, with the invalid field:", () => {
  const junk = [null, "1", [], {}, true];
  const all = (name: string, values: unknown[], param = name) =>
    values.map((value): [object, string] => [{ [name]: value }, param]);
  const tool = (value: object) => ({ tools: [{ type: "function", function: value }] });
  const CASES: [rules: string, cases: [sent: object, param: string][]][] = [
    ["gateway.endpoints.chat_completions.model a string", all("model", [null, 5, ["svc"], {}])],
    [
      "gateway.endpoints.chat_completions.messages gateway.limits.messages at least one",
      all("messages", [undefined, null, [], {}, "Hello"]),
    ],
    [
      "gateway.endpoints.chat_completions.temperature a number from 0 to 2",
      all("temperature", [-0.1, 2.01, ...junk]),
    ],
    [
      "gateway.endpoints.chat_completions.top_p a number from 0 to 1",
      all("top_p", [-0.1, 1.1, ...junk.slice(1)]),
    ],
    [
      "gateway.endpoints.chat_completions.max_tokens an integer of at least 1",
      all("max_tokens", [0, -1, 1.5, ...junk]),
    ],
    [
      "gateway.endpoints.chat_completions.presence_penalty -2 to 2",
      all("presence_penalty", [-2.1, 2.1, ...junk.slice(1)]),
    ],
    [
      "gateway.endpoints.chat_completions.frequency_penalty -2 to 2",
      all("frequency_penalty", [-2.1, 2.1, ...junk.slice(1)]),
    ],
    ["gateway.endpoints.chat_completions.seed an integer", all("seed", [1.5, ...junk.slice(1)])],
    [
      "gateway.endpoints.chat_completions.stop gateway.limits.stop",
      [
        ...all("stop", [5, {}, true, text(257), text(257, "😀"), ["a", "b", "c", "d", "e"]]),
        ...all("stop", [[""], [5], [null], [text(257)]], "stop.0"),
        ...all("stop", [["a", ""]], "stop.1"),
      ],
    ],
    ["gateway.endpoints.chat_completions.stream a boolean", all("stream", [null, "true", 1, {}])],
    [
      "gateway.endpoints.chat_completions.stream_options an object",
      [
        ...[5, "x", true, []].map((stream_options): [object, string] => [
          { stream: true, stream_options },
          "stream_options",
        ]),
        ...[null, 1, "true"].map((include_usage): [object, string] => [
          { stream: true, stream_options: { include_usage } },
          "stream_options.include_usage",
        ]),
      ],
    ],
    [
      "gateway.endpoints.chat_completions.stream_options gateway.endpoints.chat_completions.3 only with stream true",
      [
        [{ stream_options: { include_usage: true } }, "stream_options"],
        [{ stream_options: { include_usage: false }, stream: false }, "stream_options"],
        [{ stream_options: {} }, "stream_options"],
      ],
    ],
    [
      "gateway.endpoints.chat_completions.tools gateway.resources.tool.p1",
      [
        ...all("tools", [null, {}, "add", 5]),
        ...all("tools", [["add"], [null]], "tools.0"),
        ...all("tools", [[{}], [{ function: {} }], [{ type: "retrieval" }]], "tools.0.type"),
        [{ tools: [{ type: "function" }] }, "tools.0.function"],
        [tool({}), "tools.0.function.name"],
        [tool({ name: "" }), "tools.0.function.name"],
        [tool({ name: "add two" }), "tools.0.function.name"],
        [tool({ name: text(129) }), "tools.0.function.name"],
        [tool({ name: "add\n" }), "tools.0.function.name"],
        [tool({ name: "add", description: 5 }), "tools.0.function.description"],
        [tool({ name: "add", parameters: [] }), "tools.0.function.parameters"],
        [{ tools: [TOOL, { type: "function" }] }, "tools.1.function"],
      ],
    ],
    [
      "gateway.endpoints.chat_completions.tool_choice one of three words or a function by its name",
      [
        ...all("tool_choice", [null, "any", 5, []]),
        ...all("tool_choice", [{}, { type: "tool" }], "tool_choice.type"),
        ...all("tool_choice", [{ type: "function" }], "tool_choice.function"),
        ...all("tool_choice", [{ type: "function", function: {} }], "tool_choice.function.name"),
      ],
    ],
    [
      "gateway.endpoints.chat_completions.tool_choice gateway.endpoints.chat_completions.3 what names no tool that was sent",
      [
        [{ tool_choice: "required" }, "tool_choice"],
        [{ tool_choice: "required", tools: [] }, "tool_choice"],
        [{ tool_choice: { type: "function", function: { name: "add" } } }, "tool_choice"],
        [
          { tool_choice: { type: "function", function: { name: "sub" } }, tools: [TOOL] },
          "tool_choice",
        ],
      ],
    ],
    [
      "gateway.endpoints.chat_completions.user gateway.limits.user up to 256 characters",
      all("user", [text(257), text(257, "😀"), 5, {}, true]),
    ],
    [
      "gateway.endpoints.chat_completions.1 gateway.endpoints.chat_completions.reasoning true, false or null",
      all("reasoning", [{}, 1, "true", []]),
    ],
    [
      "gateway.endpoints.chat_completions.1 gateway.endpoints.chat_completions.think true, false or null",
      all("think", [{}, 1, "true", []]),
    ],
    [
      "gateway.endpoints.chat_completions.think gateway.endpoints.chat_completions.3 not with tools",
      [[{ think: true, tools: [TOOL] }, "think"]],
    ],
    [
      `gateway.errors.invalid_request gateway.endpoints.chat_completions.3 the first field in the order of the list`,
      [
        [{ think: 5, temperature: 9, seed: "x" }, "temperature"],
        [{ stream_options: {}, messages: [{ role: "assistant" }] }, "messages.0.content"],
        [{ stream_options: {}, user: 5 }, "stream_options"],
        [{ stream_options: {}, tools: [{}] }, "stream_options"],
        [{ stream_options: { include_usage: 1 }, stream: false }, "stream_options.include_usage"],
        [{ stream: 5, stream_options: {} }, "stream"],
        [{ tool_choice: "required", user: 5 }, "tool_choice"],
        [{ tool_choice: { type: "function", function: { name: "add" } }, think: 5 }, "tool_choice"],
        [{ tool_choice: "required", tools: [TOOL, {}] }, "tools.1.type"],
        [{ tool_choice: { type: "function", function: {} } }, "tool_choice.function.name"],
        [
          { tools: [TOOL, { type: "function", function: {} }], tool_choice: 5 },
          "tools.1.function.name",
        ],
        [{ stop: ["a", "", 5], stream: 5 }, "stop.1"],
        [{ think: true, tools: [TOOL], tool_choice: "none" }, "think"],
        [
          { think: true, tools: [TOOL], tool_choice: "required", stream_options: {} },
          "stream_options",
        ],
      ],
    ],
  ];
  for (const [title, cases] of CASES) {
    test(title, async () => {
      const count = front.upstream.asked.length;
      for (const [sent, param] of cases) {
        await expectRefusal(await send(sent), 400, "invalid_request", param);
      }
      expect(front.upstream.asked.length).toBe(count);
    });
  }
});

test(`gateway.does.4 gateway.endpoints.chat_completions.model the alias, no model and an unknown id mean the default model`, async () => {
  const named = [
    {},
    { model: "svc" },
    { model: "svc-v0" },
    { model: "test-1" },
    { model: "gpt-4o" },
  ];
  for (const fields of named) {
    const response = await send(fields);
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ model: "svc" });
    expect(front.last().body.model).toBe("upstream-model");
    expect(response.headers.has("deprecation")).toBe(
      "model" in fields && fields.model === "gpt-4o",
    );
  }
});
