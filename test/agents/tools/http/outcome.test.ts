// The outcome of a call for each end of its request.
import { expect, test } from "bun:test";
import { classifyOutcome } from "../../../../src/agents/tools/http/endpoint.ts";
import type { GuardedOutcome } from "../../../../src/net/index.ts";

const answer = (status: number): GuardedOutcome => ({
  ...{ ok: true, url: "https://api.example.com/", status, headers: new Headers() },
  ...{ body: new Uint8Array(), truncated: false },
});
const failure = (
  code: Extract<GuardedOutcome, { ok: false }>["code"],
  sent: boolean,
  status: number | null = null,
): GuardedOutcome => ({ ok: false, code, message: "It failed.", sent, status });

/** An end of a request, and its outcome for a read and for a write. */
const TABLE: [string, GuardedOutcome, reads: string, writes: string][] = [
  ["200", answer(200), "ok", "ok"],
  ["201", answer(201), "ok", "ok"],
  ["204", answer(204), "ok", "ok"],
  ["299", answer(299), "ok", "ok"],
  ["300", answer(300), "error", "error"],
  ["302", answer(302), "error", "error"],
  ["307", answer(307), "error", "error"],
  ["400", answer(400), "error", "error"],
  ["401", answer(401), "error", "error"],
  ["404", answer(404), "error", "error"],
  ["408", answer(408), "error", "error"],
  ["429", answer(429), "error", "error"],
  ["500", answer(500), "error", "error"],
  ["502", answer(502), "error", "outcome_unknown"],
  ["503", answer(503), "error", "error"],
  ["504", answer(504), "error", "outcome_unknown"],
  ["520", answer(520), "error", "outcome_unknown"],
  ["521", answer(521), "error", "error"],
  ["522", answer(522), "error", "outcome_unknown"],
  ["524", answer(524), "error", "outcome_unknown"],
  ["refused by the guard", failure("forbidden", false), "error", "error"],
  ["an unknown host name", failure("dns", false), "error", "error"],
  ["no connection", failure("refused", false), "error", "error"],
  ["no certificate", failure("tls", false), "error", "error"],
  ["late before sending", failure("timeout", false), "timeout", "error"],
  ["cancelled before sending", failure("aborted", false), "timeout", "error"],
  ["late", failure("timeout", true), "timeout", "outcome_unknown"],
  ["cancelled", failure("aborted", true), "timeout", "outcome_unknown"],
  ["reset", failure("reset", true), "error", "outcome_unknown"],
  ["no HTTP", failure("other", true), "error", "outcome_unknown"],
  ["reset within a 200", failure("reset", true, 200), "error", "ok"],
  ["late within a 200", failure("timeout", true, 200), "timeout", "ok"],
  ["cancelled within a 201", failure("aborted", true, 201), "timeout", "ok"],
  ["reset within a 302", failure("reset", true, 302), "error", "error"],
  ["reset within a 400", failure("reset", true, 400), "error", "error"],
  ["reset within a 500", failure("reset", true, 500), "error", "error"],
  ["reset within a 502", failure("reset", true, 502), "error", "outcome_unknown"],
  ["late within a 504", failure("timeout", true, 504), "timeout", "outcome_unknown"],
];

test.each(TABLE)("%s", (_, end, reads, writes) => {
  expect([classifyOutcome(end, true), classifyOutcome(end, false)]).toEqual([
    reads,
    writes,
  ] as never);
});
