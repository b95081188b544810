// What people see of a tool that its MCP server has changed, before they accept it.
import { expect, test } from "bun:test";
import { runServed } from "./served-command.ts";

const TOOL = {
  ...{ account: "acme", name: "orders_find", tool: "find", revision: 3, accepted_revision: 2 },
  ...{ risk: "read", status: "enabled", annotations: { title: "Find" }, output_schema: null },
};

const show = (changes: object[], isJson = false) =>
  runServed("tools changes", ["orders_find", "--account", "acme"], {
    answer: () => ({ ...TOOL, changes }),
    isJson,
  });

test("each changed field of a tool stands with all of both sides, JSON laid out", async () => {
  const long = "Finds an order. ".repeat(40);
  const properties = (...names: string[]) =>
    JSON.stringify({ properties: Object.fromEntries(names.map((name) => [name, {}])) });
  const changes = [
    { field: "description", before: `${long}\nOnce.`, after: `${long}Twice.\u001b[2J\nOnce.` },
    { field: "parameters", before: properties("id"), after: properties("id", "to") },
    { field: "is_task", before: "false", after: "true" },
  ];
  const { code, text } = await show(changes);
  expect(code).toBe(0);
  const head = text.slice(0, text.indexOf("\n\n"));
  expect(head.split("\n")).toEqual([
    ...["account: acme", "name: orders_find", "tool: find", "revision: 3"],
    ...["accepted_revision: 2", "risk: read", "status: enabled"],
  ]);
  expect(text.slice(head.length)).toBe(
    [
      ...["", "", "description:", `  - ${long}`, `  + ${long}Twice.\\u001b[2J`, "    Once."],
      ...["", "parameters:", "    {", '      "properties": {', '  -     "id": {}'],
      ...['  +     "id": {},', '  +     "to": {}', "      }", "    }"],
      ...["", "is_task:", "  - false", "  + true", ""],
    ].join("\n"),
  );
  expect(JSON.parse((await show(changes, true)).text)).toEqual({ ...TOOL, changes });
});

test("lines far from a change are counted, and so are those behind the last that is shown", async () => {
  const lines = Array.from({ length: 15 }, (_, n) => `line ${n}`);
  const changed = lines.with(10, "other");
  const field = { field: "description", before: lines.join("\n"), after: changed.join("\n") };
  const { text } = await show([field]);
  expect(text.slice(text.indexOf("description:")).split("\n")).toEqual([
    ...["description:", "  … 7 unchanged lines", "    line 7", "    line 8", "    line 9"],
    ...["  - line 10", "  + other", "    line 11", "    line 12", "    line 13"],
    ...["  … 1 unchanged line", ""],
  ]);
  const many = Array.from({ length: 1_000 }, (_, n) => `line ${n}`).join("\n");
  const added = (await show([{ field: "description", before: "Short.", after: many }])).text;
  expect(added).toContain("  + line 398\n  … 601 more lines, which --json shows\n");
  expect(added).not.toContain("line 399");
});

test("a JSON that was cut is shown as it is, and an accepted tool has no difference", async () => {
  const { text } = await show([{ field: "parameters", before: "{}", after: '{"cut…' }]);
  expect(text).toEndWith('\nparameters:\n  - {}\n  + {"cut…\n');
  expect((await show([])).text).toEndWith("status: enabled\n\nit is accepted as it is\n");
});
