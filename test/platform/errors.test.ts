// Tests the catalogue of errors against the list of the spec's rules, row by row.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import {
  apiError,
  ERROR_CODES,
  type ErrorCode,
  publicCode,
  type Surface,
  typeOf,
} from "../../src/platform/errors.ts";

const lines = readFileSync(`${import.meta.dir}/../../scripts/rules.tsv`, "utf8").split("\n");

/** The rows of an error table: code and statuses, in either order. */
function listRows(surface: Surface): { code: string; statuses: number[] }[] {
  return lines.flatMap((line) => {
    const [id = "", text = ""] = line.split("\t");
    if (!id.startsWith(`${surface}.errors.`)) return [];
    const cells = text.split(" · ").slice(0, 2);
    const code = cells.find((cell) => /^[a-z_]+$/.test(cell));
    const statuses = cells.find((cell) => /^\d{3}(, \d{3})*$/.test(cell));
    return code && statuses ? [{ code, statuses: statuses.split(", ").map(Number) }] : [];
  });
}

function listShown(surface: Surface): Map<string, Set<number>> {
  const shown = new Map<string, Set<number>>();
  for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
    const name = publicCode(code, surface);
    if (name === null) continue;
    const entry: { status: number; unavailableStatus?: number } = ERROR_CODES[code];
    const statuses = shown.get(name) ?? new Set();
    shown.set(name, statuses.add(entry.status));
    if (entry.unavailableStatus) statuses.add(entry.unavailableStatus);
  }
  return shown;
}

describe.each(["gateway", "agents"] as const)("the error table of %s", (surface) => {
  const rows = listRows(surface);

  test("is found in the list of rules", () => {
    expect(rows.length).toBeGreaterThan(20);
  });

  test.each(rows)("has $code with its statuses", ({ code, statuses }) => {
    expect([...(listShown(surface).get(code) ?? [])].sort()).toEqual([...statuses].sort());
  });
});

test("agents.errors.p3 agents.versioning.2 codes are added to the table of the agents surface, each a conflict", () => {
  const added = ["agent_archived", "idempotency_conflict", "version_conflict"] as const;
  const known = listRows("agents").map(({ code }) => code);
  for (const code of added) {
    expect([code, known.includes(code), apiError(code).status]).toEqual([code, false, 409]);
    expect(publicCode(code, "agents")).toBe(code);
  }
});

test("agents.errors.p4 validation, a missing key and the request limit have no code on the agents surface", () => {
  const hidden = (Object.keys(ERROR_CODES) as ErrorCode[]).filter(
    (code) => publicCode(code, "agents") === null,
  );
  expect(hidden).toEqual([
    "validation",
    "missing_api_key",
    "invalid_api_key",
    "request_too_large",
    "rate_limit_exceeded",
    "internal_error",
  ]);
});

test("gateway.errors.p6 the type follows the status", () => {
  expect([400, 413, 415].map(typeOf)).toEqual(Array(3).fill("invalid_request_error"));
  expect([401, 403, 404, 409, 429].map(typeOf)).toEqual([
    "authentication_error",
    "permission_error",
    "not_found_error",
    "conflict_error",
    "rate_limit_error",
  ]);
  expect([500, 502, 503, 504].map(typeOf)).toEqual(Array(4).fill("server_error"));
});

test("only the message of the request limit mentions a rate limit", () => {
  for (const [code, { message }] of Object.entries(ERROR_CODES)) {
    expect(/rate limit/i.test(message)).toBe(code === "rate_limit_exceeded");
    expect(message).not.toMatch(/quota|billing|will reset at/i);
  }
});

test("a refusal has the second status of its code only on request", () => {
  expect(apiError("agent_held").status).toBe(403);
  expect(apiError("agent_held", { isUnavailable: true }).status).toBe(503);
  expect(apiError("not_found", { isUnavailable: true }).status).toBe(404);
});
