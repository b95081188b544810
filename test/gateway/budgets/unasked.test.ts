// Tests which failures give the whole reservation back, and which are charged.
import { expect, test } from "bun:test";
import { isUnasked } from "../../../src/gateway/budgets/unasked.ts";
import {
  type CompletionStats,
  type UpstreamError,
  upstreamError,
} from "../../../src/models/index.ts";
import { connectionError } from "../../../src/models/providers/openai/errors.ts";

const failed = (more: Partial<UpstreamError> = {}) => upstreamError("upstream_error", "why", more);
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

test.each<[string, UpstreamError & CompletionStats]>([
  ["no connection was made", connectionError("refused")],
  ["its name has no address", connectionError("dns")],
  ["its certificate is not valid", connectionError("tls")],
  ["it could not be reached in time", connectionError("timeout")],
  ["it answered with a status", failed({ upstreamStatus: 500 })],
  ["no server was chosen", { ...failed(), attempts: 0 }],
  ["it is overloaded", upstreamError("upstream_rate_limited", "why")],
  ["it is off", upstreamError("model_offline", "why")],
  ["it refuses our key", upstreamError("model_unavailable", "why")],
  ["the prompt is too long for it", upstreamError("context_length_exceeded", "why")],
])("a server has used nothing if %s", (_, failure) => {
  expect(isUnasked({ attempts: 1, ...failure })).toBe(true);
});

test.each<[string, UpstreamError & CompletionStats]>([
  ["the connection broke behind the request", connectionError("reset")],
  ["its reply could not be read", connectionError("other")],
  ["the caller left", upstreamError("client_closed_request", "why")],
  ["it did not answer in time", upstreamError("upstream_timeout", "why")],
  ["it told what it has used", failed({ upstreamStatus: 200, usage })],
  ["the program stopped", { ...failed({ endedBy: "stop" }), attempts: 0 }],
])("a server may have worked if %s", (_, failure) => {
  expect(isUnasked({ attempts: 1, ...failure })).toBe(false);
});
