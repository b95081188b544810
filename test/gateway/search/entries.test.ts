// Tests the row of a search in the request log, and its timing.
import { expect, test } from "bun:test";
import { startSearchFront } from "../../spec/gateway/search-front.ts";
import { readRequestLog } from "../../support/request-log.ts";
import { writeErrorPage } from "../../support/search-servers.ts";

test("a reply reports its timing, and a refusal does not", async () => {
  await using own = await startSearchFront();
  const found = await own.search("x");
  expect(found.headers.get("server-timing")).toBe("wait;dur=0, upstream;dur=0, total;dur=0");
  own.server.script = () => writeErrorPage(500, "Error");
  expect((await own.search("x")).headers.has("server-timing")).toBe(false);
});

test("a search has a row in the request log, without a model and tokens", async () => {
  await using own = await startSearchFront();
  await own.search("x", {}, { headers: { "x-request-id": "good" } });
  own.server.script = () => writeErrorPage(500, "Error");
  await own.search("x", {}, { headers: { "x-request-id": "bad" } });
  await own.send({}, { headers: { "x-request-id": "wrong" } });
  await own.clock.advance(25);
  const rows = await readRequestLog(own.app.database).entries();
  const common = {
    route: "search",
    model: null,
    prompt_tokens: null,
    completion_tokens: null,
    cost: null,
    is_stream: false,
  };
  expect(rows).toMatchObject([
    { ...common, request_id: "good", status: 200, code: null, attempts: 1, waited_ms: 0 },
    { ...common, request_id: "bad", status: 502, code: "upstream_error", attempts: 1 },
    { ...common, request_id: "wrong", status: 400, code: "invalid_request", attempts: null },
  ]);
});
