// Tests which callers may read the metrics, and the metrics of requests.
import { describe, expect, test } from "bun:test";
import { createMetricsPage, observeRequests } from "../../src/http/metrics.ts";
import { openMetrics } from "../../src/platform/metrics.ts";

async function ask(token: string | null, authorization?: string) {
  const metrics = await openMetrics();
  metrics.counter({ name: "asked_total", help: "How often." }).inc();
  const page = createMetricsPage(metrics, token);
  const headers = authorization === undefined ? undefined : { authorization };
  return page.answer(new Request("http://localhost/metrics", { headers }));
}

test("a caller with the token gets the Prometheus format", async () => {
  const response = await ask("t-1", "Bearer t-1");
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(await response.text()).toBe(
    "# HELP asked_total How often.\n# TYPE asked_total counter\nasked_total 1\n",
  );
});

test("without a configured token every caller does", async () => {
  expect((await ask(null)).status).toBe(200);
});

describe("other callers are refused", () => {
  test.each([
    ["no header", undefined],
    ["another token", "Bearer t-2"],
    ["its beginning", "Bearer t-"],
    ["another scheme", "Basic t-1"],
    ["the bare token", "t-1"],
  ])("%s", async (_, authorization) => {
    const response = await ask("t-1", authorization);
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.text()).not.toContain("asked_total");
  });

  test("everybody, where the token is empty", async () => {
    expect((await ask("")).status).toBe(401);
  });
});

test("a request is measured in seconds, by its route and status", async () => {
  const metrics = await openMetrics();
  const observer = observeRequests(metrics);
  observer.onReply({ method: "GET", path: "/v1/models" }, 200, 75);
  observer.onRefusal("not_found");
  const text = await metrics.write();
  const labels =
    'http_request_method="GET",http_route="/v1/models",http_response_status_code="200"';
  expect(text).toContain(`http_server_request_duration_seconds_sum{${labels}} 0.075\n`);
  expect(text).toContain('wadi_refusals_total{code="not_found"} 1\n');
});
