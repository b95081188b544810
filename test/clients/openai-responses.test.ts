// The npm package `openai`: its Responses API, whole, streamed, parsed and with tools.
import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import type { ResponseInputItem, ResponseStreamEvent } from "openai/resources/responses/responses";
import { ANSWER, CALLS, CITIES, failureOf, registerDev, WEATHER } from "./dev.ts";
import { connect } from "./openai-client.ts";

const dev = registerDev();
const TOOL = { type: "function" as const, ...WEATHER, strict: true };
const ask = (input: string | ResponseInputItem[]) => ({ model: "svc", input });
const FORMAT = { type: "json_schema" as const, name: "city", schema: WEATHER.parameters };

describe("the npm package openai, responses", () => {
  test("create gets the text, the usage and the request id", async () => {
    const client = connect(dev());
    const response = await client.responses.create({ ...ask("Hello"), instructions: "Be brief." });
    expect(response.output_text).toBe("You said: Hello");
    expect(response).toMatchObject({ status: "completed", model: "svc", store: false });
    expect(response.usage!.total_tokens).toBeGreaterThan(0);
    expect(response._request_id).toBeString();
  });

  test("create with `stream` yields the events in order", async () => {
    const stream = await connect(dev()).responses.create({ ...ask("Hello there"), stream: true });
    const events: ResponseStreamEvent[] = await Array.fromAsync(stream);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
    const text = events.flatMap((one) =>
      one.type === "response.output_text.delta" ? one.delta : [],
    );
    expect(text.length).toBeGreaterThan(1);
    expect(text.join("")).toBe("You said: Hello there");
    expect(events.at(-1)!.type).toBe("response.completed");
  });

  test("its stream helper assembles text and calls", async () => {
    const input = `!say One moment.\n${CALLS}`;
    const runner = connect(dev()).responses.stream({ ...ask(input), tools: [TOOL] });
    const names: string[] = [];
    runner.on("response.function_call_arguments.done", ({ arguments: text }) => names.push(text));
    const { output, output_text, usage } = await runner.finalResponse();
    expect(output_text).toBe("One moment.");
    expect(output.map(({ type }) => type)).toEqual(["message", "function_call", "function_call"]);
    expect(names.map((text) => JSON.parse(text))).toEqual(CITIES);
    expect(usage!.output_tokens).toBeGreaterThan(0);
  });

  test("parse gets an object of the schema", async () => {
    const text = { format: FORMAT };
    const { output_parsed } = await connect(dev()).responses.parse({ ...ask("Where?"), text });
    expect(output_parsed).toEqual({ city: expect.any(String) });
    const runner = connect(dev()).responses.stream({ ...ask("Where?"), text });
    expect((await runner.finalResponse()).output_parsed).toEqual(output_parsed);
  });

  test("calls are answered by sending the whole conversation again", async () => {
    const { responses } = connect(dev());
    const input: ResponseInputItem[] = [{ role: "user", content: CALLS }];
    const first = await responses.create({ ...ask(input), tools: [TOOL] });
    input.push(...(first.output as ResponseInputItem[]));
    for (const item of first.output) {
      if (item.type !== "function_call") continue;
      const { city } = JSON.parse(item.arguments) as { city: string };
      const { call_id } = item;
      input.push({ type: "function_call_output", call_id, output: `38 in ${city}` });
    }
    const second = await responses.create({ ...ask(input), tools: [TOOL] });
    expect(second.output_text).toBe(ANSWER);
  });

  test("images are sent", async () => {
    const image_url = "data:image/png;base64,iVBORw0KGgo=";
    const content = [
      { type: "input_text" as const, text: "See" },
      { type: "input_image" as const, image_url, detail: "auto" as const },
    ];
    const response = await connect(dev()).responses.create(ask([{ role: "user", content }]));
    expect(response.status).toBe("completed");
  });

  test("its errors have our code and the field", async () => {
    const { responses } = connect(dev());
    const failure = await failureOf(
      responses.create({ ...ask("Hello"), previous_response_id: "resp_1" }),
    );
    expect(failure).toBeInstanceOf(OpenAI.BadRequestError);
    const known = { status: 400, code: "invalid_request", param: "previous_response_id" };
    expect(failure).toMatchObject(known);
    const keyless = connect(dev(), "-none").responses;
    const effort = await failureOf(keyless.create({ ...ask("Hi"), reasoning: { effort: "low" } }));
    expect(effort).toMatchObject({
      status: 403,
      code: "scope_required",
      param: "reasoning.effort",
    });
  });

  test("a failure in a stream is an error of the stream", async () => {
    const stream = await connect(dev()).responses.create({ ...ask("!cut"), stream: true });
    const failure = await failureOf(Array.fromAsync(stream));
    expect(failure).toBeInstanceOf(OpenAI.APIError);
    expect(failure).toMatchObject({ code: "upstream_error" });
  });

  test("a response that its budget cuts is incomplete", async () => {
    const short = { ...ask("!tokens 40"), max_output_tokens: 5 };
    const whole = await connect(dev()).responses.create(short);
    const streamed = await connect(dev()).responses.stream(short).finalResponse();
    for (const { status, incomplete_details } of [whole, streamed]) {
      expect([status, incomplete_details!.reason]).toEqual(["incomplete", "max_output_tokens"]);
    }
  });

  test("models.retrieve gets one model", async () => {
    const client = connect(dev());
    expect(await client.models.retrieve("stub-1")).toMatchObject({ id: "stub-1", object: "model" });
    expect(await failureOf(client.models.retrieve("unknown"))).toBeInstanceOf(OpenAI.NotFoundError);
  });
});
