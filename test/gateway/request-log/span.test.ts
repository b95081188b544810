// Tests what the span of a request says, and how much of its texts.
import { expect, test } from "bun:test";
import type { LogEntry } from "../../../src/gateway/request-log/entry.ts";
import { describeRequest, type RequestContent } from "../../../src/gateway/request-log/span.ts";
import { makeEntry } from "../../support/request-log.ts";

const describe = (fields: Partial<LogEntry> = {}, content: RequestContent | null = null) =>
  describeRequest(makeEntry("1", { model: "m-1", ...fields }), content);

test("a request over HTTP is a server's span, and a run's is internal", () => {
  const { name, kind, attributes } = describe();
  expect([name, kind, attributes["http.response.status_code"]]).toEqual([
    "chat m-1",
    "server",
    201,
  ]);
  const round = describe({ run_id: "r-1" });
  expect(round.kind).toBe("internal");
  expect(Object.keys(round.attributes).filter((one) => one.startsWith("http."))).toEqual([]);
});

test("only a reply without an error names the model that gave it", () => {
  const modelOf = (code: string | null) => describe({ code }).attributes["gen_ai.response.model"];
  expect([modelOf(null), modelOf("upstream_error")]).toEqual(["m-1", null]);
});

/** Messages of a span, as they are sent. */
function write(content: RequestContent) {
  const written = describe({}, content).content!;
  const read = (name: string) => written[name] && JSON.parse(written[name]);
  return [read("gen_ai.input.messages"), read("gen_ai.output.messages")];
}

test("texts are those of the last 32 messages, each to 4,096 characters, and no image", () => {
  const long = "x".repeat(5_000);
  const numbered = Array.from(
    { length: 32 },
    (_, n) => ({ role: "user", content: `${n}` }) as const,
  );
  const [input, output] = write({
    input: [{ role: "system", content: "dropped" }, ...numbered],
    output: null,
  });
  expect(input).toHaveLength(32);
  expect(input[0].parts).toEqual([{ type: "text", content: "0" }]);
  expect(output).toBeUndefined();
  const call = { id: "c-1", type: "function", function: { name: "add", arguments: long } } as const;
  const image = { type: "image_url", image_url: { url: "https://canary.example/" } } as const;
  const [shown, said] = write({
    input: [
      { role: "user", content: [{ type: "text", text: long }, image] },
      { role: "tool", content: "42", tool_call_id: "c-0" },
    ],
    output: { role: "assistant", content: null, tool_calls: [call] },
  });
  expect(shown[0].parts).toEqual([
    { type: "text", content: expect.stringMatching(/^x{4096}…$/) },
    { type: "image" },
  ]);
  expect(shown[1].parts).toEqual([{ type: "tool_call_response", id: "c-0", response: "42" }]);
  const [{ parts }] = said;
  expect(parts).toMatchObject([{ type: "tool_call", id: "c-1", name: "add" }]);
  expect(parts[0].arguments).toHaveLength(4_097);
});
