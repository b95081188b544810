// Tests what an approval's page says of its arguments: by rules, exactly, and in bounded time.
import { describe, expect, test } from "bun:test";
import { compare, pickWarnings } from "../../src/console/client/approvals/comparison.ts";
import {
  type ApprovalDetail,
  type CallResult,
  listArguments,
} from "../../src/console/client/approvals/data.ts";
import { cutExcerpt, findText, listForms } from "../../src/console/client/approvals/search.ts";

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 22, 14, 32);
const OLD_IBAN = "SA03 8000 0000 6080 1016 7519";
const NEW_IBAN = "SA84 4000 0108 0540 1173 0013";
const SUPPLIER = "مؤسسة الواحة للتوريدات";

const iso = (ms: number) => new Date(ms).toISOString();
const earlier = (sent: unknown, daysAgo = 12) => ({
  ...{ id: `p-${daysAgo}`, arguments: sent, decided_at: iso(NOW - daysAgo * DAY_MS) },
});
const result = (seq: number, text: string, fields: Partial<CallResult> = {}): CallResult => ({
  ...{ seq, tool: "read_page", url: "https://portal.example/1187", is_external: true, text },
  is_cut: false,
  ...fields,
});

function makeDetail(
  sent: Record<string, unknown>,
  fields: Partial<ApprovalDetail> = {},
  approval: Partial<ApprovalDetail["approval"]> = {},
): ApprovalDetail {
  return {
    approval: {
      ...{ id: "p-1", agent_id: "g-1", run_id: "r-1", tool: "send_payment", risk: "irreversible" },
      ...{ why: ["irreversible"], status: "pending", reason: null, decided_by: null },
      ...{ decided_at: null, arguments: sent, arguments_sha256: "", external_sources: [] },
      ...{ requested_at: iso(NOW), expires_at: iso(NOW + 3_600_000) },
      ...approval,
    },
    ...{ account: "finance", agent_name: "Clerk", agent_version: 14, run_status: null },
    ...{ run_message: "Pay INV-2026-1187 of 48250.5", run_hook: null, started_by: null },
    ...{ cost: null, budget: null, tool_title: null, tool_description: null },
    ...{ tool_endpoint: null, on_approval_expired: "continue", barred_keys: [] },
    ...{ has_earlier_messages: false, approved_calls: [], results: [], has_all_results: true },
    ...fields,
  };
}
const excerptOf = (text: string, values: readonly (readonly string[])[]) =>
  cutExcerpt(text, findText(text, values[0]!)!, values);
const rowOf = (detail: ApprovalDetail, path: string) =>
  compare(detail).arguments.find((row) => row.path === path)!;
const originOf = (sent: Record<string, unknown>, path: string, fields: Partial<ApprovalDetail>) =>
  rowOf(makeDetail(sent, fields), path).origin;
const kindsOf = (detail: ApprovalDetail, now = NOW) =>
  pickWarnings(compare(detail), detail, now).map(({ kind }) => kind);

describe("where a value comes from", () => {
  const iban = { iban: NEW_IBAN };

  test("is the run's input before anything else", () => {
    const sent = { reference: "INV-2026-1187", amount: 48_250.5 };
    const fields = {
      approved_calls: [earlier({ ...sent, currency: "SAR" })],
      results: [result(7, "INV-2026-1187")],
    };
    expect(originOf(sent, "reference", fields)).toEqual({ kind: "input" });
    expect(originOf(sent, "amount", fields)).toEqual({ kind: "input" });
  });

  test("is the most similar approved call, before what the run has read", () => {
    const fields = { approved_calls: [earlier(iban)], results: [result(7, NEW_IBAN)] };
    expect(originOf(iban, "iban", fields)).toEqual({ kind: "same", at: iso(NOW - 12 * DAY_MS) });
  });

  test("is content from outside only where nothing else holds it", () => {
    const page = result(7, `Pay to ${NEW_IBAN} from now on`);
    const lookup = result(3, NEW_IBAN, { tool: "erp_lookup", is_external: false });
    expect(originOf(iban, "iban", { results: [page] })).toEqual({
      ...{ kind: "outside", seq: 7, tool: "read_page" },
    });
    expect(originOf(iban, "iban", { results: [page, lookup] })).toEqual({
      ...{ kind: "inside", seq: 3, tool: "erp_lookup" },
    });
    expect(originOf(iban, "iban", { run_hook: `{"to":"${NEW_IBAN}"}` })).toEqual({
      ...{ kind: "outside", seq: null, tool: null },
    });
  });

  test("is the model only where all that it read is known", () => {
    expect(originOf(iban, "iban", {})).toEqual({ kind: "model" });
    const unknown: Partial<ApprovalDetail>[] = [
      { has_earlier_messages: true },
      { has_all_results: false },
      { results: [result(7, "long", { is_cut: true })] },
      { run_message: null },
    ];
    for (const fields of unknown) {
      expect(originOf(iban, "iban", fields)).toEqual({ kind: "unknown" });
    }
    const external_sources = [{ seq: 7, tool: "read_page" }];
    const detail = makeDetail(iban, {}, { external_sources });
    expect(rowOf(detail, "iban").origin).toEqual({ kind: "unknown" });
  });

  test("is not said of values below six characters, or that are no text or number", () => {
    const sent = { currency: "SAR", urgent: false, list: [], none: null, five: "12345" };
    const fields = { approved_calls: [earlier(sent)], results: [result(1, "SAR false [] 12345")] };
    for (const path of Object.keys(sent)) {
      expect(originOf(sent, path, fields)).toEqual({ kind: "unknown" });
    }
    expect(originOf({ six: "123456" }, "six", fields)).toEqual({ kind: "model" });
  });

  test("is found where a value stands inside JSON, also in ASCII", () => {
    const sent = { name: 'The "Oasis"\nCo', supplier: SUPPLIER };
    const page = JSON.stringify({ name: sent.name });
    const ascii = SUPPLIER.replaceAll(
      /[^ ]/g,
      (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    const results = [result(1, page), result(2, `{"s":"${ascii}"}`)];
    expect(originOf(sent, "name", { results })).toMatchObject({ kind: "outside", seq: 1 });
    expect(originOf(sent, "supplier", { results })).toMatchObject({ kind: "outside", seq: 2 });
  });

  test("is exact: another case, another space or a part of it is another value", () => {
    for (const text of [NEW_IBAN.toLowerCase(), NEW_IBAN.replaceAll(" ", ""), NEW_IBAN.slice(1)]) {
      expect(originOf(iban, "iban", { results: [result(7, text)] })).toEqual({ kind: "model" });
    }
  });
});

describe("the most similar approved call", () => {
  const sent = { to: SUPPLIER, iban: NEW_IBAN, amount: 10 };

  test("is the one with the most equal values, and the newest of equals", () => {
    const calls = [
      earlier({ to: "another", iban: "x", amount: 10 }, 1),
      earlier({ to: SUPPLIER, iban: OLD_IBAN, amount: 10 }, 5),
      earlier({ to: SUPPLIER, iban: "older", amount: 10 }, 9),
    ];
    const detail = makeDetail(sent, { approved_calls: calls });
    expect(compare(detail).similarAt).toBe(iso(NOW - 5 * DAY_MS));
    expect(rowOf(detail, "iban")).toMatchObject({ earlier: OLD_IBAN, isHit: true });
    expect(rowOf(detail, "to")).toMatchObject({ earlier: null, isHit: false });
  });

  test("is none without an equal value, and a text is another value than its number", () => {
    const calls = [earlier({ to: "another", iban: OLD_IBAN, amount: "10" })];
    const detail = makeDetail(sent, { approved_calls: calls });
    expect(compare(detail).similarAt).toBeNull();
    expect(compare(detail).arguments.map((row) => row.earlier)).toEqual([null, null, null]);
  });

  test("says nothing of an argument that it did not have", () => {
    const detail = makeDetail(sent, { approved_calls: [earlier({ amount: 10 })] });
    expect(rowOf(detail, "iban").earlier).toBeNull();
    expect(kindsOf(detail)).toEqual([]);
  });

  test("may hold anything, since other versions of the tool were called", () => {
    for (const odd of [null, "text", 5, [], [1], { __proto__: 1 }, { constructor: { a: [] } }]) {
      expect(compare(makeDetail(sent, { approved_calls: [earlier(odd)] })).similarAt).toBeNull();
    }
  });
});

describe("what to look at first", () => {
  const sent = { to: SUPPLIER, iban: NEW_IBAN };
  const approved_calls = [earlier({ to: SUPPLIER, iban: OLD_IBAN })];
  const results = [result(7, NEW_IBAN)];

  test("is nothing where nothing is unusual", () => {
    expect(kindsOf(makeDetail({ amount: 5 }))).toEqual([]);
    expect(kindsOf(makeDetail(sent, { approved_calls: [earlier(sent)], results }))).toEqual([]);
  });

  test("is a value that is new and from outside, in one sentence", () => {
    const detail = makeDetail(sent, { approved_calls, results });
    expect(pickWarnings(compare(detail), detail, NOW)).toEqual([
      { kind: "new_outside", paths: ["iban"], tool: "read_page" },
    ]);
  });

  test("is a value from outside, or one that differs", () => {
    expect(kindsOf(makeDetail(sent, { results }))).toEqual(["outside"]);
    expect(kindsOf(makeDetail(sent, { approved_calls }))).toEqual(["changed"]);
  });

  test("is a changed value of the input only where no other one has changed", () => {
    const before = { to: SUPPLIER, reference: "INV-1", note: "October" };
    const detail = (note: string) =>
      makeDetail(
        { to: SUPPLIER, reference: "INV-2026-1187", note },
        { approved_calls: [earlier(before)] },
      );
    const pathsOf = (one: ApprovalDetail) => compare(one).warnings.map(({ paths }) => paths);
    expect(pathsOf(detail("November"))).toEqual([["note"]]);
    expect(pathsOf(detail("October"))).toEqual([["reference"]]);
  });

  test("is no argument that was another one in each of three calls", () => {
    const of = (n: number) => earlier({ to: SUPPLIER, reference: `INV-${n}`, iban: OLD_IBAN }, n);
    const now = { to: SUPPLIER, reference: "INV-9999", iban: OLD_IBAN };
    expect(kindsOf(makeDetail(now, { approved_calls: [of(1), of(2)] }))).toEqual(["changed"]);
    const three = makeDetail(now, { approved_calls: [of(1), of(2), of(3)] });
    expect(kindsOf(three)).toEqual([]);
    expect(rowOf(three, "reference")).toMatchObject({ earlier: "INV-1", isHit: false });
    const other = makeDetail({ ...now, iban: NEW_IBAN }, { approved_calls: three.approved_calls });
    expect(pickWarnings(compare(other), other, NOW)).toEqual([
      { kind: "changed", paths: ["iban"] },
    ]);
  });

  test("is an argument that differs for this supplier, though it differs between suppliers", () => {
    const of = (n: number) =>
      earlier({ to: `supplier ${n}`, iban: `iban ${n}`, currency: "SAR" }, n);
    const now = { to: "supplier 2", iban: NEW_IBAN, currency: "SAR" };
    const detail = makeDetail(now, { approved_calls: [of(1), of(2), of(3), of(4)] });
    expect(pickWarnings(compare(detail), detail, NOW)).toEqual([
      { kind: "changed", paths: ["iban"] },
    ]);
  });

  test("is an unknown outcome, hidden characters, and less than a tenth of the time", () => {
    const why = ["outcome_unknown" as const];
    expect(kindsOf(makeDetail({}, {}, { why }))).toEqual(["unknown"]);
    expect(kindsOf(makeDetail({ note: "\u202Egnp.exe" }))).toEqual(["hidden"]);
    const left = (ms: number) => kindsOf(makeDetail({}), NOW + 3_600_000 - ms);
    expect([left(360_000), left(359_999), left(1), left(0)]).toEqual([[], ["late"], ["late"], []]);
    expect(kindsOf(makeDetail({}, {}, { status: "approved" }), NOW + 3_599_000)).toEqual([]);
  });

  test("is at most two, the gravest first", () => {
    const why = ["outcome_unknown" as const];
    const all = makeDetail({ ...sent, note: "\u202Ex" }, { approved_calls, results }, { why });
    expect(kindsOf(all, NOW + 3_599_000)).toEqual(["new_outside", "unknown"]);
    const fewer = makeDetail({ note: "\u202Ex" }, {}, { why });
    expect(kindsOf(fewer, NOW + 3_599_000)).toEqual(["unknown", "late"]);
  });
});

describe("content from outside", () => {
  const sent = { reference: "INV-2026-1187", iban: NEW_IBAN };

  test("shows sources with a value first, those of warnings before others", () => {
    const detail = makeDetail(sent, {
      results: [
        result(3, "about INV-2026-1187"),
        result(5, "nothing of it"),
        result(7, `to ${NEW_IBAN} for INV-2026-1187`),
        result(8, "inside", { is_external: false }),
      ],
    });
    const { sources, otherSteps, missingSteps } = compare(detail);
    expect([sources.map(({ seq }) => seq), otherSteps, missingSteps]).toEqual([[7, 3], [5], []]);
    expect(sources[0]!.excerpt.parts.filter(({ isMark }) => isMark)).toEqual([
      { text: NEW_IBAN, isMark: true },
      { text: "INV-2026-1187", isMark: true },
    ]);
  });

  test("names steps whose content is not here", () => {
    const external_sources = [
      { seq: 2, tool: "read_page", url: null },
      { seq: 7, tool: "read_page", url: null },
    ];
    const detail = makeDetail(sent, { results: [result(7, "x")] }, { external_sources });
    expect(compare(detail).missingSteps).toEqual([2]);
  });

  test("is cut around the value, and no character in halves", () => {
    const text = `${"😀".repeat(500)}${NEW_IBAN}${"😀".repeat(500)}`;
    const excerpt = excerptOf(text, [listForms(NEW_IBAN)]);
    const whole = excerpt.parts.map((part) => part.text).join("");
    expect([excerpt.isBegin, excerpt.isEnd, whole.isWellFormed()]).toEqual([false, false, true]);
    expect(whole.length).toBeLessThan(320);
    expect(whole).toContain(NEW_IBAN);
  });

  test("marks a long value's beginning only, and values that overlap as one", () => {
    const long = "ab".repeat(5_000);
    const excerpt = excerptOf(`x${long}y`, [[long]]);
    const length = excerpt.parts.reduce((sum, { text }) => sum + text.length, 0);
    expect(length).toBeLessThan(500);
    expect(excerpt.parts.filter(({ isMark }) => isMark).length).toBeGreaterThan(0);
    const both = excerptOf("1234567890", [["123456"], ["567890"]]);
    expect(both.parts).toEqual([{ text: "1234567890", isMark: true }]);
  });
});

describe("hostile and huge values", () => {
  test("are searched in time that grows with their length only", () => {
    // The browser's own search would compare half a trillion characters.
    const text = "a".repeat(1_000_000);
    const value = `${"a".repeat(100_000)}b`;
    expect(findText(text, listForms(value))).toBeNull();
    expect(findText(`${text}b`, [value])).toEqual({ start: 900_000, end: 1_000_001 });
  });

  test("are found like the engine's own search finds them", () => {
    const letters = "aab";
    for (let n = 0; n < 2_000; n++) {
      const write = (length: number, by: number) =>
        Array.from({ length }, (_, at) => letters[((n * 31 + at * by * 17) >> 2) % 3]).join("");
      const [text, value] = [write(40, n % 7), write(1 + (n % 6), n % 5)];
      expect(findText(text, [value])?.start ?? -1).toBe(text.indexOf(value));
    }
  });

  test("are listed by path, to 50 rows and 6 levels, with names that cannot be paths", () => {
    const deep: Record<string, unknown> = {};
    let place = deep;
    for (let depth = 0; depth < 5_000; depth++) place = place.a = {} as Record<string, unknown>;
    const [row] = listArguments(deep);
    expect(row!.path).toBe("a.a.a.a.a.a.a");
    expect(listArguments(Array.from({ length: 100_000 }, () => 1))).toHaveLength(51);
    expect(compare(makeDetail({ list: Array(100).fill(1) }))).toMatchObject({ isCut: true });
    const odd = JSON.parse('{"a.b":1,"a":{"b":2,"":3,"[0]":4},"__proto__":{"c":5},"l":[{"d":6}]}');
    expect(listArguments(odd).map(({ path }) => path)).toEqual([
      ...['["a.b"]', "a.b", 'a[""]', 'a["[0]"]', "__proto__.c", "l[0].d"],
    ]);
    expect(listArguments({ none: {}, empty: [], nothing: null })).toEqual([
      { path: "none", text: "{}", kind: "object" },
      { path: "empty", text: "[]", kind: "object" },
      { path: "nothing", text: "null", kind: "object" },
    ]);
  });

  test("are compared whole: fifty long values against a megabyte", () => {
    const value = (n: number) => `${"ab".repeat(2_000)}${n}`;
    const sent = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`v${n}`, value(n)]));
    const results = Array.from({ length: 16 }, (_, n) => result(n, "ab".repeat(32_000)));
    const { arguments: rows, warnings } = compare(makeDetail(sent, { results }));
    expect(new Set(rows.map(({ origin }) => origin.kind))).toEqual(new Set(["model"]));
    expect(warnings).toEqual([]);
  });
});
