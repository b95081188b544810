// Tool sets of versions in runs: reads, caching and lookups.
import { expect, test } from "bun:test";
import type { ToolPin, VersionRow } from "../../../src/agents/definitions/version.ts";
import type { Tool } from "../../../src/agents/tools/contract.ts";
import type { Pinned } from "../../../src/agents/tools/http/store/index.ts";
import type { ToolRevisionRow } from "../../../src/agents/tools/revision.ts";
import { createToolsets, type ToolsetsOptions } from "../../../src/agents/tools/toolsets.ts";
import { yieldToEventLoop } from "../../../src/platform/clock.ts";
import { makeRevision } from "../../store/tool-cases.ts";

const BUILTIN = { name: "calculator" } as Tool;
const pin = (name: string, revision = 1, kind: ToolPin["kind"] = "http"): ToolPin => ({
  ...{ name, revision, kind, risk: "write" },
});
const versionOf = (...tool_revisions: ToolPin[]) => ({ tool_revisions }) as VersionRow;

/** A store with every pinned revision, except those named `lost`. */
function open(listing: Promise<void> = Promise.resolve()) {
  const reads: string[] = [];
  const disabled = new Set<string>();
  const agents = { http_tools: true };
  const openToolset = createToolsets({
    tools: {
      async listPinned(account_id: string, pinned: readonly Pinned[]) {
        reads.push(
          `pinned ${pinned.map(({ name, revision }) => `${name} ${revision}`).join(", ")}`,
        );
        return pinned
          .filter(({ name }) => name !== "lost")
          .map(({ name, ...one }) => {
            const revision = { ...makeRevision(name), ...one, account_id };
            return revision as unknown as ToolRevisionRow;
          });
      },
      async listStandings(_: string, names: readonly string[]) {
        reads.push(`standings ${names.join(", ")}`);
        await listing;
        return names.map((name) => ({
          ...{ name, revision: 1, risk: "write" as const, server_id: null, is_changed: false },
          status: disabled.has(name) ? ("disabled" as const) : ("enabled" as const),
        }));
      },
    },
    catalog: { find: (name) => (name === "calculator" ? (BUILTIN as never) : undefined) },
    settings: () => ({ agents }) as ReturnType<ToolsetsOptions["settings"]>,
    createTool: ({ account_id, name, revision, parameters }) =>
      ({ name, revision, description: account_id, parameters }) as Tool,
  });
  return { openToolset, reads, disabled, agents };
}

test("a version without pinned registered tools reads nothing, and rechecks nothing", async () => {
  const { openToolset, reads } = open();
  const toolset = await openToolset("a-1", versionOf(pin("calculator", 1, "builtin")));
  expect(toolset.find("calculator")).toBe(BUILTIN);
  expect([toolset.find("send"), toolset.refresh, reads]).toEqual([undefined, undefined, []]);
  expect(await openToolset("a-2", versionOf())).toBe(toolset);
});

test("pinned revisions are read once, and shared by every run", async () => {
  const { openToolset, reads } = open();
  const first = await openToolset(
    "a-1",
    versionOf(pin("send", 2), pin("calculator", 1, "builtin")),
  );
  expect(first.find("send")).toMatchObject({ revision: 2, description: "a-1" });
  expect(first.find("calculator")).toBe(BUILTIN);
  const again = await openToolset("a-1", versionOf(pin("send", 2), pin("other")));
  expect(again.find("send")).toBe(first.find("send")!);
  await openToolset("a-2", versionOf(pin("send", 2)));
  expect(reads).toEqual([
    ...["pinned send 2", "standings send", "pinned other 1", "standings send, other"],
    ...["pinned send 2", "standings send"],
  ]);
});

test("the earliest of very many tools are evicted and read again", async () => {
  const { openToolset, reads } = open();
  // Each has some hundred characters, two million in total.
  for (let n = 0; n < 10_000; n++) await openToolset("a-1", versionOf(pin(`tool_${n}`)));
  reads.length = 0;
  for (const n of [9_999, 9_000, 0]) await openToolset("a-1", versionOf(pin(`tool_${n}`)));
  expect(reads.filter((read) => read.startsWith("pinned"))).toEqual(["pinned tool_0 1"]);
});

test("a refresh applies tools that were disabled or enabled since the last one", async () => {
  const { openToolset, disabled } = open();
  disabled.add("send");
  const toolset = await openToolset("a-1", versionOf(pin("send"), pin("other")));
  expect([toolset.find("send"), toolset.find("other")?.name]).toEqual([undefined, "other"]);
  disabled.clear();
  disabled.add("other");
  expect(toolset.find("other")?.name).toBe("other");
  await toolset.refresh!();
  expect([toolset.find("send")?.name, toolset.find("other")]).toEqual(["send", undefined]);
});

test("agents.errors.not_enabled disabling http tools removes all registered tools at once", async () => {
  const { openToolset, agents } = open();
  const toolset = await openToolset("a-1", versionOf(pin("send"), pin("calculator", 1, "builtin")));
  agents.http_tools = false;
  expect([toolset.find("send"), toolset.find("calculator")]).toEqual([undefined, BUILTIN]);
  agents.http_tools = true;
  expect(toolset.find("send")?.name).toBe("send");
});

test("a pinned account tool never becomes the platform's tool of its name, even if missing", async () => {
  const { openToolset } = open();
  const toolset = await openToolset("a-1", versionOf(pin("calculator"), pin("lost")));
  expect(toolset.find("calculator")).toMatchObject({ description: "a-1" });
  expect(toolset.find("lost")).toBeUndefined();
});

test("a version is opened only when it is known which of its tools are switched off", async () => {
  const listed = Promise.withResolvers<void>();
  const { openToolset, disabled } = open(listed.promise);
  disabled.add("send");
  let isOpen = false;
  const opening = openToolset("a-1", versionOf(pin("send"))).then((toolset) => {
    isOpen = true;
    return toolset;
  });
  await yieldToEventLoop();
  expect(isOpen).toBe(false);
  listed.resolve();
  expect((await opening).find("send")).toBeUndefined();
});
