// The `memory_*` tools return notes and planned writes, and write nothing themselves.
import { describe, expect, test } from "bun:test";
import type { NoteRow } from "../../../../src/agents/notes/store.ts";
import { checkArguments } from "../../../../src/agents/tools/arguments.ts";
import { createMemory, type Notes } from "../../../../src/agents/tools/builtin/memory.ts";
import { createUse } from "../use.ts";

/** The notes of the test's agent. */
function keep(rows: Partial<NoteRow>[], count = rows.length) {
  const agentIds = new Set<string>();
  const notes: Notes = {
    async list(agent_id) {
      agentIds.add(agent_id);
      return rows.map(({ key = "", content = "", external = false }) => {
        return { key, content_bytes: Buffer.byteLength(content), external };
      });
    },
    async find(agent_id, key) {
      agentIds.add(agent_id);
      const row = rows.find((one) => one.key === key);
      const rest = { agent_id, created_at: 0, updated_at: 0, external: false, content: "" };
      return row && ({ ...rest, ...row } as NoteRow);
    },
    async count(agent_id) {
      agentIds.add(agent_id);
      return count;
    },
  };
  const tools = new Map(createMemory(notes).map((tool) => [tool.name, tool]));
  const run = (name: string, args: Record<string, unknown> = {}) =>
    tools.get(`memory_${name}`)!.run(createUse(args));
  return { run, agentIds };
}

const camels = { key: "camels", content: "They walk. 🐪" };
const outside = { key: "from a page", content: "Obey.", external: true };
const fault = (content: string) => ({ outcome: "error" as const, content, external: false });

describe("memory_list", () => {
  test("lists each key unchanged, and each size", async () => {
    const { run, agentIds } = keep([camels, { key: 'two\n"lines"', content: "x" }]);
    expect(await run("list")).toEqual({
      outcome: "ok",
      content: '"camels" (15 bytes)\n"two\\n\\"lines\\"" (1 bytes)',
      external: false,
    });
    expect([...agentIds]).toEqual([createUse({}).agent_id]);
  });

  test("is external if one of the notes is", async () => {
    for (const rows of [
      [camels, outside],
      [outside, camels],
    ]) {
      expect(await keep(rows).run("list")).toMatchObject({ external: true });
    }
  });

  test("reports that there are none", async () => {
    expect(await keep([]).run("list")).toMatchObject({
      ...{ outcome: "ok", content: "There are no notes.", external: false },
    });
  });
});

describe("memory_get", () => {
  test("returns a note, and whether it is external", async () => {
    const { run } = keep([camels, outside]);
    expect(await run("get", { key: "camels" })).toEqual({
      outcome: "ok",
      content: "They walk. 🐪",
      external: false,
    });
    expect(await run("get", { key: "from a page" })).toEqual({
      outcome: "ok",
      content: "Obey.",
      external: true,
    });
    expect(await run("get", { key: "Camels" })).toEqual(fault("There is no note with that key."));
  });
});

describe("memory_set", () => {
  test("answers with the note to write", async () => {
    const { run } = keep([camels]);
    expect(await run("set", { key: "dunes", content: "They move." })).toEqual({
      ...{ outcome: "ok", content: "The note was kept.", external: false },
      effect: { set: { key: "dunes", content: "They move." } },
    });
    expect(await run("set", { key: "camels", content: "x" })).toMatchObject({
      content: "The note was replaced.",
      effect: { set: { key: "camels", content: "x" } },
    });
  });

  test("accepts 16 KB and no byte more", async () => {
    const { run } = keep([]);
    const content = "🐪".repeat(4_096);
    expect(await run("set", { key: "a", content })).toHaveProperty("effect");
    const why = "The note was not kept: it is longer than 16384 bytes.";
    expect(await run("set", { key: "a", content: `${content}.` })).toEqual(fault(why));
  });

  test("accepts a thousand notes; existing ones can be replaced", async () => {
    expect(await keep([camels], 999).run("set", { key: "a", content: "x" })).toHaveProperty(
      "effect",
    );
    const { run } = keep([camels], 1_000);
    const why = "The note was not kept: there are 1000 already. Delete one first.";
    expect(await run("set", { key: "a", content: "x" })).toEqual(fault(why));
    expect(await run("set", { key: "camels", content: "x" })).toHaveProperty("effect");
  });
});

describe("memory_delete", () => {
  test("answers with the note to delete, if it exists", async () => {
    const { run } = keep([camels]);
    expect(await run("delete", { key: "camels" })).toEqual({
      ...{ outcome: "ok", content: "The note was deleted.", external: false },
      effect: { delete: { key: "camels" } },
    });
    const why = "There is no note with that key.";
    expect(await run("delete", { key: "dunes" })).toEqual(fault(why));
  });
});

test.each([
  ["list", "{}", true],
  ["list", '{"key":"a"}', false],
  ["get", '{"key":"a"}', true],
  ["get", '{"key":""}', false],
  ["get", `{"key":"${"x".repeat(129)}"}`, false],
  ["set", `{"key":"${"x".repeat(128)}","content":"y"}`, true],
  ["set", '{"key":"a"}', false],
  ["set", '{"key":"a","content":""}', false],
  ["set", `{"key":"a","content":"${"x".repeat(16_385)}"}`, false],
  ["delete", "{}", false],
])("arguments of memory_%s %.40s: %p", (name, text, isValid) => {
  const tools = createMemory({} as Notes);
  const tool = tools.find((one) => one.name === `memory_${name}`)!;
  expect(checkArguments(tool.parameters, text).ok).toBe(isValid);
});
