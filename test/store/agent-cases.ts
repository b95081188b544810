// Cases of the store of agents.
import { expect } from "bun:test";
import type { HoldRow } from "../../src/access/index.ts";
import type { AgentRow } from "../../src/agents/definitions/agent.ts";
import type { DefinitionLimits, NewVersionPlan } from "../../src/agents/definitions/store.ts";
import {
  DEFAULT_BEHAVIOUR,
  DEFAULT_POLICY,
  type VersionRow,
} from "../../src/agents/definitions/version.ts";
import type { Case, Stores } from "./cases.ts";
import { codeOf } from "./run-acts.ts";

const NOW = Date.UTC(2026, 10, 20);

/** The answer where the agent is gone, or is not what the request was checked against. */
const NONE = undefined;
/** Limits above the needs of any case. */
const MANY = 1_000;
export const AMPLE: DefinitionLimits = {
  agents: MANY,
  versions: MANY,
  stored_bytes: 1e9,
};

const makeAgent = (id: string, fields: Partial<AgentRow> = {}): AgentRow => ({
  ...{ id, account_id: "a-1", name: `Agent ${id}`, slug: `slug-${id}`, description: null },
  ...{ status: "active", current_version: 1, metadata: { team: "ä" }, expose: false },
  ...{ created_at: NOW, updated_at: NOW, archived_at: null },
  ...fields,
});
export const makeVersion = (agent_id: string, fields: Partial<VersionRow> = {}): VersionRow => ({
  ...DEFAULT_BEHAVIOUR,
  ...{ agent_id, version: 1, system_prompt: "Be brief.\nAlways.", tools: ["calculator"] },
  tool_revisions: [{ name: "calculator", revision: 1, kind: "builtin", risk: "read" }],
  ...{ created_at: NOW, created_by_key_id: "k-1" },
  ...fields,
});
export const create = (
  { agents }: Stores,
  id: string,
  fields: Partial<AgentRow> = {},
  isMade = false,
  limits = AMPLE,
) => agents.create(makeAgent(id, fields), makeVersion(id), isMade, limits);

export const makeVersionPlan = (fields: Partial<NewVersionPlan> = {}): NewVersionPlan => ({
  ...{ agent_id: "g-1", account_id: "a-1", change: {}, agentChange: {}, expectedVersion: null },
  ...{ model: null, tool_revisions: makeVersion("g-1").tool_revisions },
  ...{ created_by_key_id: "k-2", now: NOW + 9, limits: AMPLE },
  ...fields,
});
const hold = (kind: HoldRow["kind"], id: string): HoldRow => ({
  ...{ kind, id, account_id: "a-1", reason: `because of ${id}`, since: NOW },
});

const creationCases: Case[] = [
  {
    method: "agents.create",
    title: "stores the agent and its first version",
    act: (stores) => create(stores, "g-1"),
    async check(answer, { agents }) {
      const found = { agent: makeAgent("g-1"), version: makeVersion("g-1"), hold: null };
      expect(answer).toEqual(found);
      expect(await agents.find("g-1", "a-1")).toEqual(found);
      expect(await agents.findVersion("g-1", 1)).toEqual(makeVersion("g-1"));
      expect(await agents.findVersion("g-1", 2)).toBeUndefined();
    },
  },
  {
    method: "agents.create",
    title: "refuses a taken slug that the request names; other accounts' slugs do not count",
    setup: (stores) => create(stores, "g-1", { slug: "bot" }),
    act: async (stores) => [
      await codeOf(create(stores, "g-2", { slug: "bot" })),
      await codeOf(create(stores, "g-3", { slug: "bot", account_id: "a-2" })),
    ],
    async check(answer, { agents }) {
      expect(answer).toEqual(["slug_taken", "accepted"]);
      expect(await agents.find("g-2", "a-1")).toBeUndefined();
      expect(await agents.listVersions("g-2", 9, null)).toEqual([]);
    },
  },
  {
    method: "agents.create",
    title: "appends the first free number to a generated slug",
    async setup(stores) {
      for (const slug of ["bot-2", "bot-3", "bot-11"]) await create(stores, slug, { slug });
    },
    async act(stores) {
      const ids = ["g-1", "g-2", "g-3"];
      // Created in sequence: each finds the earlier slugs.
      const slugs: string[] = [];
      for (const id of ids) {
        slugs.push((await create(stores, id, { slug: "bot" }, true)).agent.slug);
      }
      return slugs;
    },
    check: (answer) => expect(answer).toEqual(["bot", "bot-4", "bot-5"]),
  },
];

const readCases: Case[] = [
  {
    method: "agents.listExposed",
    title: "lists the active exposed agents of an account by slug, behind one",
    async setup(stores) {
      for (const slug of ["c", "b", "a"]) await create(stores, slug, { slug, expose: true });
      await create(stores, "g-1", { slug: "d" });
      await create(stores, "g-2", { slug: "e", expose: true, status: "archived" });
      await create(stores, "g-3", { slug: "f", expose: true, account_id: "a-2" });
    },
    act: async ({ agents }) => {
      const pages = [agents.listExposed("a-1", "", 2), agents.listExposed("a-1", "b", 9)];
      return (await Promise.all(pages)).map((page) => page.map(({ slug }) => slug));
    },
    check: (answer) => expect(answer).toEqual([["a", "b"], ["c"]]),
  },
  {
    method: "agents.findExposed",
    title: "finds an active exposed agent by its slug, and no other",
    async setup(stores) {
      await create(stores, "g-1", { slug: "a", expose: true });
      await create(stores, "g-2", { slug: "b" });
      await create(stores, "g-3", { slug: "c", expose: true, account_id: "a-2" });
    },
    act: ({ agents }) =>
      Promise.all(["a", "b", "c"].map((slug) => agents.findExposed("a-1", slug))),
    check: (answer) =>
      expect(answer).toEqual([makeAgent("g-1", { slug: "a", expose: true }), undefined, undefined]),
  },
  {
    method: "agents.find",
    title: "shows the agent's own hold before its account's, and hides other accounts' agents",
    async setup(stores) {
      await create(stores, "g-1");
      await create(stores, "g-2");
      await stores.holds.hold(hold("account", "a-1"));
      await stores.holds.hold(hold("agent", "g-1"));
    },
    act: ({ agents }) => agents.find("g-1", "a-1"),
    async check(answer, { agents, holds }) {
      expect(answer).toMatchObject({ hold: hold("agent", "g-1") });
      expect(await agents.find("g-2", "a-1")).toMatchObject({ hold: hold("account", "a-1") });
      await holds.release("agent", "g-1");
      expect(await agents.find("g-1", "a-1")).toMatchObject({ hold: hold("account", "a-1") });
      await holds.release("account", "a-1");
      expect(await agents.find("g-1", "a-1")).toMatchObject({ hold: null });
      expect(await agents.find("g-1", "a-2")).toBeUndefined();
      expect(await agents.find("g-3", "a-1")).toBeUndefined();
    },
  },
  {
    method: "agents.list",
    title: "lists an account's agents with their holds, newest first, ties by id",
    async setup(stores) {
      await create(stores, "g-2", { created_at: NOW + 1 });
      await create(stores, "g-1", { created_at: NOW + 1 });
      await create(stores, "g-3");
      await create(stores, "g-4", { account_id: "a-2", created_at: NOW + 5 });
      await stores.holds.hold(hold("agent", "g-1"));
      await stores.holds.hold({ ...hold("account", "a-2"), account_id: "a-2" });
    },
    act: ({ agents }) => agents.list("a-1"),
    async check(answer, { agents }) {
      const held = { agent: { id: "g-1" }, hold: hold("agent", "g-1") };
      expect(answer).toMatchObject([
        { agent: { id: "g-2" }, hold: null },
        held,
        { agent: { id: "g-3" }, hold: null },
      ]);
      const all = await agents.list(null);
      expect(all.map(({ agent }) => agent.id)).toEqual(["g-4", "g-2", "g-1", "g-3"]);
      // The hold of one account holds no agent of another.
      expect(all.map((one) => one.hold?.id ?? null)).toEqual(["a-2", null, "g-1", null]);
      expect(all[0]!.hold).toMatchObject({ kind: "account" });
      expect(await agents.list("a-3")).toEqual([]);
    },
  },
  {
    method: "agents.findOwner",
    title: "finds the account of any agent",
    setup: (stores) => create(stores, "g-1"),
    act: ({ agents }) => Promise.all([agents.findOwner("g-1"), agents.findOwner("g-2")]),
    check: (answer) => expect(answer).toEqual(["a-1", undefined]),
  },
  {
    method: "agents.findVersion",
    title: "finds a version that is no longer current",
    async setup(stores) {
      await create(stores, "g-1");
      await stores.agents.addVersion(makeVersionPlan({ change: { system_prompt: "Be long." } }));
    },
    act: ({ agents }) => agents.findVersion("g-1", 1),
    check: (answer) => expect(answer).toEqual(makeVersion("g-1")),
  },
  {
    method: "agents.listCurrent",
    title: "lists the current version of each agent, of an account or of all, without texts",
    async setup(stores) {
      await create(stores, "g-1");
      await create(stores, "g-2", { account_id: "a-2" });
      await stores.agents.addVersion(makeVersionPlan());
    },
    act: ({ agents }) => agents.listCurrent(null),
    async check(answer, { agents }) {
      const [line] = answer as object[];
      expect(line).not.toHaveProperty("system_prompt");
      expect(answer).toMatchObject([
        { agent_id: "g-1", version: 2, created_by_key_id: "k-2" },
        { agent_id: "g-2", version: 1, model: null, tool_revisions: [{ risk: "read" }] },
      ]);
      expect(await agents.listCurrent("a-2")).toMatchObject([{ agent_id: "g-2" }]);
    },
  },
  {
    method: "agents.listLines",
    title: "lists an agent's newest versions without texts",
    async setup(stores) {
      await create(stores, "g-1");
      for (let n = 0; n < 3; n++) await stores.agents.addVersion(makeVersionPlan());
    },
    act: ({ agents }) => agents.listLines("g-1", 2),
    async check(answer, { agents }) {
      expect(answer).toMatchObject([{ version: 4 }, { version: 3, agent_id: "g-1" }]);
      expect(await agents.listLines("g-9", 2)).toEqual([]);
    },
  },
  {
    method: "agents.listVersions",
    title: "lists pages of versions, newest first",
    async setup(stores) {
      await create(stores, "g-1");
      for (let n = 0; n < 3; n++) await stores.agents.addVersion(makeVersionPlan());
    },
    act: ({ agents }) => agents.listVersions("g-1", 2, null),
    async check(answer, { agents }) {
      expect(answer).toMatchObject([{ version: 4 }, { version: 3 }]);
      expect(await agents.listVersions("g-1", 2, 3)).toMatchObject([
        { version: 2 },
        { version: 1 },
      ]);
      expect(await agents.listVersions("g-1", 2, 1)).toEqual([]);
    },
  },
];

const versionCases: Case[] = [
  {
    method: "agents.addVersion",
    title: "inherits from the version that is current within the transaction",
    async setup(stores) {
      await create(stores, "g-1");
      await stores.agents.addVersion(
        makeVersionPlan({ change: { policy: { unattended_writes: true } } }),
      );
    },
    act: ({ agents }) =>
      agents.addVersion(
        makeVersionPlan({
          change: { budgets: { max_rounds: 3 } },
          agentChange: { name: "Other", slug: "other" },
        }),
      ),
    async check(answer, { agents }) {
      const policy = { ...DEFAULT_POLICY, unattended_writes: true };
      const version = answer as VersionRow;
      expect(version).toMatchObject({ version: 3, policy, budgets: { max_rounds: 3 } });
      expect(version).toMatchObject({ system_prompt: "Be brief.\nAlways.", created_at: NOW + 9 });
      expect(await agents.find("g-1", "a-1")).toMatchObject({
        agent: { current_version: 3, name: "Other", slug: "other", updated_at: NOW + 9 },
        version,
      });
      expect(await agents.findVersion("g-1", 1)).toEqual(makeVersion("g-1"));
    },
  },
  {
    method: "agents.addVersion",
    title: "refuses a plan made for another version, model or tools, and a taken slug",
    async setup(stores) {
      await create(stores, "g-1");
      await create(stores, "g-2");
    },
    act: async ({ agents }) => [
      await codeOf(agents.addVersion(makeVersionPlan({ expectedVersion: 2 }))),
      // Whoever expects another version is told so first.
      await codeOf(agents.addVersion(makeVersionPlan({ expectedVersion: 2, model: "stub-1" }))),
      await codeOf(
        agents.addVersion(
          makeVersionPlan({ expectedVersion: 2, limits: { ...AMPLE, versions: 1 } }),
        ),
      ),
      await agents.addVersion(makeVersionPlan({ model: "stub-1" })),
      await agents.addVersion(makeVersionPlan({ tool_revisions: [] })),
      await codeOf(agents.addVersion(makeVersionPlan({ agentChange: { slug: "slug-g-2" } }))),
      await agents.addVersion(makeVersionPlan({ agent_id: "g-3" })),
      await agents.addVersion(makeVersionPlan({ account_id: "a-2" })),
    ],
    async check(answer, { agents }) {
      expect(answer).toEqual([
        ...["version_conflict", "version_conflict", "version_conflict"],
        ...[NONE, NONE, "slug_taken", NONE, NONE],
      ]);
      const before = { agent: makeAgent("g-1"), version: makeVersion("g-1") };
      expect(await agents.find("g-1", "a-1")).toEqual({ ...before, hold: null });
      expect(await agents.listVersions("g-1", 9, null)).toHaveLength(1);
      expect(await agents.addVersion(makeVersionPlan({ expectedVersion: 1 }))).toMatchObject({
        version: 2,
      });
    },
  },
  {
    method: "agents.addVersion",
    title: "does not revert a tool revision that a concurrent request pinned",
    async setup(stores) {
      await create(stores, "g-1");
      const tools = makeVersion("g-1").tool_revisions.map(({ name }) => name);
      await stores.agents.addVersion(
        makeVersionPlan({ change: { tools }, tool_revisions: pinAll("http", 2) }),
      );
    },
    act: async ({ agents }) => [
      await agents.addVersion(makeVersionPlan({ tool_revisions: pinAll("http", 1) })),
      await agents.addVersion(makeVersionPlan({ tool_revisions: pinAll("builtin", 2) })),
    ],
    async check(answer, { agents }) {
      expect(answer).toEqual([NONE, NONE]);
      const same = await agents.addVersion(makeVersionPlan({ tool_revisions: pinAll("http", 2) }));
      expect(same).toMatchObject({ version: 3 });
      // A request that lists tools again may pin their current revisions.
      const change = { tools: makeVersion("g-1").tool_revisions.map(({ name }) => name) };
      const fresh = await agents.addVersion(
        makeVersionPlan({ change, tool_revisions: pinAll("builtin", 1) }),
      );
      expect(fresh).toMatchObject({ version: 4 });
      // Built-in tools have the revision of the running program.
      const later = await agents.addVersion(
        makeVersionPlan({ tool_revisions: pinAll("builtin", 2) }),
      );
      expect(later).toMatchObject({
        version: 5,
        tool_revisions: pinAll("builtin", 2),
      });
    },
  },
];

/** The tools of the first version, with other pins. */
function pinAll(kind: "http" | "builtin", revision: number) {
  return makeVersion("g-1").tool_revisions.map((pin) => ({ ...pin, kind, revision }));
}

const updateCases: Case[] = [
  {
    method: "agents.update",
    title: "updates the fields of the request, and stores the time of archiving",
    setup: (stores) => create(stores, "g-1"),
    act: ({ agents }) =>
      agents.update("g-1", "a-1", { status: "archived", metadata: {}, slug: "b" }, NOW + 7, MANY),
    async check(answer, { agents }) {
      const changed = { slug: "b", metadata: {}, status: "archived" } as const;
      const agent = makeAgent("g-1", { ...changed, updated_at: NOW + 7, archived_at: NOW + 7 });
      expect(answer).toEqual({ agent, version: makeVersion("g-1"), hold: null });
      expect(await agents.find("g-1", "a-1")).toEqual(answer as never);
      const renamed = { status: "archived", name: "N" } as const;
      const again = await agents.update("g-1", "a-1", renamed, NOW + 8, MANY);
      expect(again!.agent).toMatchObject({ archived_at: NOW + 7, updated_at: NOW + 8, name: "N" });
      const back = await agents.update("g-1", "a-1", { status: "active" }, NOW + 9, MANY);
      expect(back!.agent).toMatchObject({ archived_at: null, status: "active" });
    },
  },
  {
    method: "agents.update",
    title: "changes nothing for an identical update, another account's agent, or a taken slug",
    async setup(stores) {
      await create(stores, "g-1");
      await create(stores, "g-2");
    },
    act: async ({ agents }) => [
      (await agents.update("g-1", "a-1", { name: "Agent g-1" }, NOW + 7, MANY))!.agent,
      await agents.update("g-1", "a-2", { name: "Mine" }, NOW + 7, MANY),
      await codeOf(agents.update("g-1", "a-1", { slug: "slug-g-2", name: "New" }, NOW + 7, MANY)),
      (await agents.update("g-1", "a-1", { slug: "slug-g-1" }, NOW + 7, MANY))!.agent,
    ],
    async check(answer, { agents }) {
      const agent = makeAgent("g-1");
      expect(answer).toEqual([agent, undefined, "slug_taken", agent]);
      expect((await agents.find("g-1", "a-1"))!.agent).toEqual(agent);
    },
  },
];

export const agentCases: readonly Case[] = [
  ...creationCases,
  ...readCases,
  ...versionCases,
  ...updateCases,
];
