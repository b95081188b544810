// Tests the table of operations: one route for each command, described fields, logged changes.
import { describe, expect, test } from "bun:test";
import type { TSchema } from "@sinclair/typebox";
import { OPERATIONS } from "../../src/admin/operations/index.ts";
import { loadAllCommands } from "../../src/cli/families.ts";

/** Commands that are local by nature. */
const LOCAL = [
  ...["dev", "serve", "init", "login", "listen", "completion", "chat"],
  ...["backup", "restore", "move", "upgrade"],
];
/** Operations that change nothing although they are no GET. */
const HARMLESS = ["models probe", "check"];

test("every command has an operation of its name, unless it is local by nature", async () => {
  const commands = (await loadAllCommands()).map(({ name }) => name);
  const operations = new Set(OPERATIONS.map(({ name }) => name));
  const missing = commands.filter((name) => !operations.has(name) && !LOCAL.includes(name));
  expect(missing).toEqual([]);
});

test("every operation has a command", async () => {
  const commands = new Set((await loadAllCommands()).map(({ name }) => name));
  // An option of a command may be an operation of its own.
  const nameless = OPERATIONS.map(({ name }) => name.split(" --")[0]!);
  expect(nameless.filter((name) => !commands.has(name))).toEqual([]);
});

test("no two operations share a name or a route", () => {
  const routes = OPERATIONS.map(({ method, path }) => `${method} ${path.replaceAll(/:\w+/g, ":")}`);
  const names = OPERATIONS.map(({ name }) => name);
  expect(new Set(routes).size).toBe(routes.length);
  expect(new Set(names).size).toBe(names.length);
});

test("an approver may use the approvals, and nothing else", () => {
  const names = OPERATIONS.filter(({ isForApprovers }) => isForApprovers).map(({ name }) => name);
  expect(names).toEqual([
    "approvals list",
    "approvals show",
    "approvals approve",
    "approvals reject",
  ]);
});

test("a link to approvals may use what an approver may, and nothing else", () => {
  for (const { name, isForApprovers, isForLinks } of OPERATIONS) {
    expect(isForLinks, name).toBe(isForApprovers);
  }
});

describe.each(OPERATIONS.map((operation) => [operation.name, operation] as const))(
  "%s",
  (_, { method, path, input, reply, audit, name, summary }) => {
    test("logs what it changes, and reads without a log", () => {
      const isChange = method !== "GET" && !HARMLESS.includes(name);
      expect(audit !== undefined).toBe(isChange);
    });

    test("says what it does and takes", () => {
      expect(summary).toEndWith(".");
      const names = [...path.matchAll(/:(\w+)/g)].map(([, field]) => field!);
      expect(Object.keys(input.properties)).toEqual(expect.arrayContaining(names));
      for (const [field, schema] of Object.entries<TSchema>(input.properties)) {
        expect(schema.description, field).toBeString();
      }
    });

    test("describes each field of its reply", () => {
      const row: TSchema = reply.type === "array" ? reply.items : reply;
      for (const [field, schema] of Object.entries<TSchema>(row.properties ?? {})) {
        expect(schema.description ?? schema.$id, field).toBeString();
      }
    });
  },
);

test("the state of an evaluation in the audit log has no texts of its account", async () => {
  const { audit } = OPERATIONS.find(({ name }) => name === "agents evaluation --cancel")!;
  const state = { agent_id: "a-1", version: 2, tools: "live", status: "running", total: 3 };
  const find = async () => ({ ...state, checks: [{ kind: "contains", text: "Paid" }] });
  expect(await audit!.read!({ evaluations: { find } } as never, "e-1")).toEqual(state);
});
