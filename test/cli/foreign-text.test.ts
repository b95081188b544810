// Tests that an answer of a model cannot command the terminal on which it is printed.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { commands as chats } from "../../src/cli/chat.ts";
import { commands as keys } from "../../src/cli/keys.ts";
import { createOutput } from "../../src/cli/output.ts";

/** Clears the screen, and turns the text behind it around. */
const ANSWER = "a\u001b[2Jb\u202ec";
const REPLY = {
  ...{ id: "x", object: "chat.completion", created: 1, model: "stub-1", usage: {} },
  choices: [{ message: { content: ANSWER } }],
};
const CHUNK = { choices: [{ delta: { content: ANSWER } }] };
const VARIABLES = { WADI_API_KEY: "k", WADI_OPERATOR_TOKEN: "t" };

let server: Bun.Server<undefined>;
const before = Object.keys(VARIABLES).map((name) => [name, process.env[name]] as const);
beforeAll(() => {
  Object.assign(process.env, VARIABLES);
  server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    routes: {
      "/v1/chat/completions": () =>
        new Response(`data: ${JSON.stringify(CHUNK)}\n\ndata: [DONE]\n\n`),
    },
    fetch: () => Response.json(REPLY),
  });
});
afterAll(async () => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  await server.stop(true);
});

test.each([
  ["chat", ["Hello"]],
  ["keys chat", ["k-1", "Hello"]],
])("`wadi %s` escapes its controls on a terminal, and pipes it as it is", async (name, args) => {
  const command = [...chats, ...keys].find((one) => one.name === name)!;
  const input = { args, flags: { server: `http://127.0.0.1:${server.port}` } };
  const print = async (terminal: Parameters<typeof createOutput>[3]) => {
    let printed = "";
    const output = createOutput(
      false,
      (text) => {
        printed += text;
      },
      () => {},
      terminal,
    );
    expect(await command.run(input, output, {} as never)).toBe(0);
    return printed;
  };
  const drawn = await print({ columns: 80, hasColour: false, now: 0 });
  expect(drawn).toMatch(/^a[^\p{C}]+b[^\p{C}]+c\n$/u);
  expect(await print(null)).toBe(`${ANSWER}\n`);
});
