// The rules of risk, over their whole truth table.
import { describe, expect, test } from "bun:test";
import { type AskReason, decide, type PlannedCall } from "../../../src/agents/tools/policy.ts";

const yes = true;
const no = false;

/** unattended_writes, writes_after_external_content, hasExternal, listed → reasons of the approval. */
type Line = [boolean, string, boolean, boolean, AskReason[]];

function expectTable(risk: PlannedCall["risk"], lines: Line[]) {
  // The table has every combination once.
  expect(new Set(lines.map((line) => line.slice(0, 4).join())).size).toBe(16);
  for (const [
    unattended_writes,
    writes_after_external_content,
    hasExternal,
    listed,
    why,
  ] of lines) {
    const policy = {
      unattended_writes,
      writes_after_external_content,
      require_approval: listed ? ["other", "tool"] : ["other"],
    };
    const decision = why.length > 0 ? "needs_approval" : "auto";
    expect([policy, hasExternal, decide({ risk, name: "tool", policy, hasExternal })]).toEqual([
      policy,
      hasExternal,
      { decision, why },
    ]);
  }
}

describe("agents.does.risk.read", () => {
  test("a reading call runs without approval unless its name is listed", () => {
    expectTable("read", [
      [no, "require_approval", no, no, []],
      [no, "require_approval", no, yes, ["listed"]],
      [no, "require_approval", yes, no, []],
      [no, "require_approval", yes, yes, ["listed"]],
      [no, "allow", no, no, []],
      [no, "allow", no, yes, ["listed"]],
      [no, "allow", yes, no, []],
      [no, "allow", yes, yes, ["listed"]],
      [yes, "require_approval", no, no, []],
      [yes, "require_approval", no, yes, ["listed"]],
      [yes, "require_approval", yes, no, []],
      [yes, "require_approval", yes, yes, ["listed"]],
      [yes, "allow", no, no, []],
      [yes, "allow", no, yes, ["listed"]],
      [yes, "allow", yes, no, []],
      [yes, "allow", yes, yes, ["listed"]],
    ]);
  });
});

describe("agents.does.risk.write", () => {
  test("each switch lifts its own rule only", () => {
    expectTable("write", [
      [no, "require_approval", no, no, ["write"]],
      [no, "require_approval", no, yes, ["write", "listed"]],
      [no, "require_approval", yes, no, ["write", "external_content"]],
      [no, "require_approval", yes, yes, ["write", "listed", "external_content"]],
      [no, "allow", no, no, ["write"]],
      [no, "allow", no, yes, ["write", "listed"]],
      [no, "allow", yes, no, ["write"]],
      [no, "allow", yes, yes, ["write", "listed"]],
      [yes, "require_approval", no, no, []],
      [yes, "require_approval", no, yes, ["listed"]],
      [yes, "require_approval", yes, no, ["external_content"]],
      [yes, "require_approval", yes, yes, ["listed", "external_content"]],
      [yes, "allow", no, no, []],
      [yes, "allow", no, yes, ["listed"]],
      [yes, "allow", yes, no, []],
      [yes, "allow", yes, yes, ["listed"]],
    ]);
  });

  test("any value but `allow` needs approval after external content", () => {
    for (const writes_after_external_content of ["", "Allow", "allowed", "deny"]) {
      const policy = {
        unattended_writes: true,
        writes_after_external_content,
        require_approval: [],
      };
      const call = { risk: "write", name: "tool", policy, hasExternal: true } as const;
      expect(decide(call).why).toEqual(["external_content"]);
    }
  });
});

describe("agents.does.risk.irreversible", () => {
  test("no switch lets such a call run without approval", () => {
    const one: AskReason[] = ["irreversible"];
    const two: AskReason[] = ["irreversible", "listed"];
    expectTable("irreversible", [
      [no, "require_approval", no, no, one],
      [no, "require_approval", no, yes, two],
      [no, "require_approval", yes, no, one],
      [no, "require_approval", yes, yes, two],
      [no, "allow", no, no, one],
      [no, "allow", no, yes, two],
      [no, "allow", yes, no, one],
      [no, "allow", yes, yes, two],
      [yes, "require_approval", no, no, one],
      [yes, "require_approval", no, yes, two],
      [yes, "require_approval", yes, no, one],
      [yes, "require_approval", yes, yes, two],
      [yes, "allow", no, no, one],
      [yes, "allow", no, yes, two],
      [yes, "allow", yes, no, one],
      [yes, "allow", yes, yes, two],
    ]);
  });
});
