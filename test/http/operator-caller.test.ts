// Guesses at the operator API are slowed down by the address from which they come.
import { expect, test } from "bun:test";
import { RateLimiter } from "../../src/access/rate-limit.ts";
import { countFailure } from "../../src/http/operator-caller.ts";
import { type ApiError, apiError } from "../../src/platform/errors.ts";
import { createManualClock } from "../support/clock.ts";

test("an address that guesses is slowed down, and no other address with it", async () => {
  const terms = { requests_max: 2, windowMs: 60_000, closingMs: 0 };
  const limiter = new RateLimiter(createManualClock(), terms);
  const addressOf = ({ headers }: Request) => headers.get("address")!;
  const guess = (address: string) => {
    const request = new Request("http://server/operator/v1/runs", { headers: { address } });
    const refused = countFailure(request, { limiter, addressOf }, apiError("invalid_api_key"));
    return refused.catch((limited: ApiError) => limited).then(({ code }) => code);
  };
  const guesses = [await guess("192.0.2.1"), await guess("192.0.2.1"), await guess("192.0.2.1")];
  expect(guesses).toEqual(["invalid_api_key", "invalid_api_key", "rate_limit_exceeded"]);
  expect(await guess("192.0.2.2")).toBe("invalid_api_key");
});
