// Tests the dates of an unknown model id, to the millisecond.
import { expect, test } from "bun:test";
import { hasSunset, writeDeprecation } from "../../../src/gateway/chat/deprecation.ts";

const URL = "https://acme.example/changes";
const headers = {
  deprecation: "@1790467200",
  link: `<${URL}>; rel="deprecation"; type="text/html"`,
};

test("gateway.errors.headers.sunset the sunset is announced from 26 November 2026 on", () => {
  const announced_at = Date.UTC(2026, 10, 26);
  expect(writeDeprecation(announced_at - 1, URL)).toEqual(headers);
  expect(writeDeprecation(announced_at, URL)).toEqual({
    ...headers,
    sunset: "Mon, 04 Jan 2027 00:00:00 GMT",
  });
});

test("gateway.versioning.3 the sunset is 4 January 2027, 00:00 UTC", () => {
  const sunset_at = Date.parse("Mon, 04 Jan 2027 00:00:00 GMT");
  expect([hasSunset(sunset_at - 1), hasSunset(sunset_at)]).toEqual([false, true]);
});
