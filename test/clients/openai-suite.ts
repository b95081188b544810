// What the npm package `openai` must be able to do with a server whose default model is the stub.
import { describe, expect, test } from "bun:test";
import OpenAI from "openai";

export interface Reach {
  /** Without `/v1`. */
  url: string;
  /** The first of the fixed keys of `wadi dev`. */
  key: string;
}

const WEATHER = {
  type: "function" as const,
  function: {
    name: "get_weather",
    description: "The weather of a city.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    },
  },
};

const CALL = '!tool get_weather {"city":"Muscat"}';

/** Registers the tests; `reach` is asked in each of them, when the server listens. */
export function registerOpenaiSuite(title: string, reach: () => Reach): void {
  /** The suffix chooses another of the fixed keys. */
  const connect = (suffix = "") => {
    const { url, key } = reach();
    return new OpenAI({ baseURL: `${url}/v1`, apiKey: `${key}${suffix}`, maxRetries: 0 });
  };
  const say = (content: string) => ({
    model: "svc",
    messages: [{ role: "user" as const, content }],
  });
  const fail = (promise: PromiseLike<unknown>): Promise<unknown> =>
    Promise.resolve(promise).then(
      () => expect.unreachable(),
      (error) => error,
    );

  describe(title, () => {
    test("it gets a reply with its usage", async () => {
      const reply = await connect().chat.completions.create(say("Hello there"));
      expect(reply).toMatchObject({
        id: expect.stringMatching(/^chatcmpl-/),
        object: "chat.completion",
        model: "svc",
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "You said: Hello there" },
            finish_reason: "stop",
          },
        ],
      });
      const { prompt_tokens, completion_tokens, total_tokens } = reply.usage!;
      expect(prompt_tokens).toBeGreaterThan(0);
      expect(total_tokens).toBe(prompt_tokens + completion_tokens);
      expect(reply._request_id).toBeString();
    });

    test("it streams, with the role first and the usage last", async () => {
      const stream = await connect().chat.completions.create({
        ...say("Hello there"),
        stream: true,
        stream_options: { include_usage: true },
      });
      const chunks = await Array.fromAsync(stream);
      const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
      expect(deltas[0]!.role).toBe("assistant");
      expect(deltas.map(({ content = "" }) => content).join("")).toBe("You said: Hello there");
      expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe("stop");
      expect(chunks.at(-1)!.choices).toEqual([]);
      expect(chunks.at(-1)!.usage!.completion_tokens).toBe(deltas.length - 1);
    });

    test("its stream helper puts text, calls and usage together again", async () => {
      const runner = connect().chat.completions.stream({
        ...say(`!say One moment.\n${CALL}\n!tool get_weather {"city":"Nizwa"}`),
        tools: [WEATHER],
        stream_options: { include_usage: true },
      });
      const done: string[] = [];
      runner.on("tool_calls.function.arguments.done", (event) => done.push(event.arguments));
      const { choices, usage } = await runner.finalChatCompletion();
      const call = (city: string) => ({
        id: expect.stringMatching(/^call_/),
        type: "function",
        function: { name: "get_weather", arguments: `{"city":"${city}"}` },
      });
      expect(choices).toMatchObject([
        {
          finish_reason: "tool_calls",
          message: { content: "One moment.", tool_calls: [call("Muscat"), call("Nizwa")] },
        },
      ]);
      expect(done).toEqual(['{"city":"Muscat"}', '{"city":"Nizwa"}']);
      expect(usage!.total_tokens).toBeGreaterThan(0);
    });

    test("a reply of nothing streams too", async () => {
      const runner = connect().chat.completions.stream(say("!say "));
      const { choices } = await runner.finalChatCompletion();
      expect(choices[0]).toMatchObject({ message: { role: "assistant" }, finish_reason: "stop" });
    });

    for (const stream of [false, true] as const) {
      test(`its tool runner goes the whole way, ${stream ? "streamed" : "as JSON"}`, async () => {
        const asked: unknown[] = [];
        const run = (sent: string) => {
          asked.push(JSON.parse(sent));
          return "38 degrees";
        };
        const tools = [{ ...WEATHER, function: { ...WEATHER.function, function: run } }];
        const { completions } = connect().chat;
        const runner = stream
          ? completions.runTools({ ...say(CALL), stream, tools })
          : completions.runTools({ ...say(CALL), tools });
        expect(await runner.finalContent()).toBe("get_weather answered: 38 degrees");
        expect(asked).toEqual([{ city: "Muscat" }]);
      });
    }

    test("it lists the models and finds the default one", async () => {
      const { data } = await connect().models.list();
      expect(data[0]).toMatchObject({ id: "svc", object: "model" });
    });

    test("refusals are its own typed errors", async () => {
      const unknown = await fail(connect("-expired").chat.completions.create(say("Hello")));
      expect(unknown).toBeInstanceOf(OpenAI.AuthenticationError);
      expect(unknown).toMatchObject({ status: 401, code: "invalid_api_key" });

      const invalid = await fail(
        connect().chat.completions.create({ ...say("Hello"), temperature: 3 }),
      );
      expect(invalid).toBeInstanceOf(OpenAI.BadRequestError);
      expect(invalid).toMatchObject({
        status: 400,
        code: "invalid_request",
        param: "temperature",
        type: "invalid_request_error",
        requestID: expect.any(String),
      });

      const scope = { ...say("Hello"), reasoning: true };
      const forbidden = await fail(connect("-none").chat.completions.create(scope));
      expect(forbidden).toBeInstanceOf(OpenAI.PermissionDeniedError);
      expect(forbidden).toMatchObject({ code: "scope_required", param: "reasoning" });

      const lost = await fail(connect().models.retrieve("svc"));
      expect(lost).toBeInstanceOf(OpenAI.NotFoundError);
      expect(lost).toMatchObject({ code: "not_found" });
    });

    test("failures of the model server are its own typed errors", async () => {
      const scripted = (code: string) =>
        fail(connect().chat.completions.create(say(`!error ${code}`)));
      const busy = await scripted("upstream_rate_limited");
      expect(busy).toBeInstanceOf(OpenAI.RateLimitError);
      expect(busy).toMatchObject({ status: 429, code: "upstream_rate_limited" });
      const broken = await scripted("upstream_error");
      expect(broken).toBeInstanceOf(OpenAI.InternalServerError);
      expect(broken).toMatchObject({ status: 502, code: "upstream_error", type: "server_error" });
      const tooLong = await scripted("context_length_exceeded");
      expect(tooLong).toMatchObject({ code: "context_length_exceeded", param: "messages" });
    });

    test("a stream that dies in the middle throws, after what was said", async () => {
      const stream = await connect().chat.completions.create({
        ...say("!tokens 8\n!cut"),
        stream: true,
      });
      let heard = 0;
      const read = async () => {
        for await (const { choices } of stream) heard += choices.length;
      };
      const error = await fail(read());
      expect(error).toBeInstanceOf(OpenAI.APIError);
      expect(error).toMatchObject({ code: "upstream_error" });
      expect(heard).toBe(4);
    });

    test("it can leave a reply and a stream that never end", async () => {
      const leaving = new AbortController();
      const reply = connect().chat.completions.create(say("!stall"), { signal: leaving.signal });
      leaving.abort();
      expect(await fail(reply)).toBeInstanceOf(OpenAI.APIUserAbortError);

      const stream = await connect().chat.completions.create({
        ...say("!say Hello\n!stall"),
        stream: true,
      });
      let text = "";
      for await (const { choices } of stream) {
        text += choices[0]!.delta.content;
        if (text === "Hello") stream.controller.abort();
      }
      expect(text).toBe("Hello");
    });
  });
}
