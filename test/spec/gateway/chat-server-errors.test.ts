// The caller's reply to each known error of a model server, without the server's text.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { EVENT_ERRORS, SERVER_ERRORS } from "../../support/server-errors.ts";
import { answerFrames, DONE, writeFrame } from "../../support/upstream.ts";
import { readOutcome } from "./faults.ts";
import { type Front, startFront } from "./front.ts";

let front: Front;
beforeAll(async () => {
  front = await startFront();
});
afterAll(() => front.stop());

const STATUS: Record<string, number> = {
  context_length_exceeded: 400,
  upstream_rate_limited: 429,
  upstream_error: 502,
  model_unavailable: 503,
  no_model_available: 503,
  upstream_timeout: 504,
};
/** Only these are possible within a stream. */
const SHOWN = ["context_length_exceeded", "upstream_timeout"];

/** Every text in a body that is longer than a word. */
function listWords(body: string): string[] {
  return (body.match(/(?:[^"<>\\]|\\.)+/g) ?? []).filter((part) => /\w \w/.test(part));
}

async function expectReported(response: Response, outcome: string, body: string): Promise<void> {
  const text = await response.text();
  expect(await readOutcome(new Response(text, response))).toBe(outcome);
  expect([...response.headers.keys()].sort().filter((name) => /retry|server/.test(name))).toEqual(
    [],
  );
  const reported = text + JSON.stringify(front.lines);
  expect(listWords(body).filter((words) => reported.includes(words))).toEqual([]);
}

describe("an error with a status", () => {
  const headers = { "retry-after": "7", server: "nginx" };
  for (const [title, status, body, code] of SERVER_ERRORS) {
    test(`gateway.errors.${code} of ${title}, for a reply and a stream`, async () => {
      front.upstream.script = () => new Response(body, { status, headers });
      for (const stream of [false, true]) {
        const count = front.lines.length;
        const response = await front.chat("Hi", { model: "test-1", stream });
        expect(response.headers.has("deprecation")).toBe(false);
        await expectReported(response, `${STATUS[code]} ${code}`, body);
        // The breaker's own lines name the server, and are of no request.
        const lines = front.lines.slice(count).filter(({ upstream }) => upstream === undefined);
        expect(lines).toEqual([
          expect.objectContaining({ model: "test-1", code, upstream_status: status }),
        ]);
      }
    });

    test(`gateway.errors.headers.deprecation of ${title}, for a request with an unknown model`, async () => {
      front.upstream.script = () => new Response(body, { status, headers });
      const reported = code === "model_unavailable" ? "no_model_available" : code;
      for (const stream of [false, true]) {
        const response = await front.chat("Hi", { model: "gpt-4o", stream });
        expect(response.headers.get("deprecation")).toBe("@1790467200");
        expect(response.headers.get("link")).toContain('rel="deprecation"');
        expect(response.headers.has("sunset")).toBe(false);
        await expectReported(response, `${STATUS[reported]} ${reported}`, body);
      }
    });
  }
});

describe("an error under status 200", () => {
  for (const [title, event, code] of EVENT_ERRORS) {
    const named = { model: "test-1" };
    const outcome = `${STATUS[code]} ${code}`;

    test(`gateway.errors.${code} of ${title}, as a complete reply`, async () => {
      const headers = { "content-type": "application/json" };
      front.upstream.script = () => new Response(event, { headers });
      for (const stream of [false, true]) {
        await expectReported(await front.chat("Hi", { ...named, stream }), outcome, event);
      }
    });

    test(`gateway.events.4 of ${title}, as a stream's first event and after comments`, async () => {
      for (const first of [
        [],
        [": queued\n\n"],
        [writeFrame({ role: "assistant", content: "" })],
      ]) {
        front.upstream.script = () => answerFrames([...first, `data: ${event}\n\n`, DONE]);
        const response = await front.chat("Hi", { ...named, stream: true });
        await expectReported(response, outcome, event);
      }
    });

    test(`gateway.events.4 of ${title}, in the middle of a stream`, async () => {
      const frames = [writeFrame({ content: "Hel" }), `data: ${event}\n\n`, DONE];
      front.upstream.script = () => answerFrames(frames);
      const response = await front.chat("Hi", { ...named, stream: true });
      const shown = SHOWN.includes(code) ? code : "upstream_error";
      await expectReported(response, `201 "Hel" ${shown}`, event);
    });
  }
});
