// Tests runs that an operator starts or cancels: for whom they act, and what their rows say.
import { afterEach, expect, test } from "bun:test";
import { approvalOperations, perform, runOperations } from "../../src/admin/index.ts";
import { add, follow, startAsking } from "../spec/agents/approvals-front.ts";
import { type Json, type RunsFront, startRuns } from "../spec/agents/runs-front.ts";
import { KEY } from "../support/app.ts";

const ACTOR = { kind: "operator", name: "noura", via: "operator API" } as const;

let front: RunsFront | undefined;
afterEach(async () => {
  await front?.app.stop(0);
  front = undefined;
});

const start = (agent: string, more: { key?: string; message?: string } = {}) =>
  perform(
    front!.app.admin,
    runOperations.start,
    { agent, message: "Hello", ...more },
    ACTOR,
  ) as Promise<Json>;

const findKey = async (name: string) => {
  const { keys } = front!.app.access;
  return (await keys.list(null)).find((key) => key.name?.endsWith(name))!;
};

test("a run acts for the key that made the agent's version, and its row names the operator", async () => {
  front = await startRuns();
  const run = await start(front.agent.id.slice(-8));
  const { version } = front.agent;
  expect(run).toMatchObject({
    status: "queued",
    trigger_kind: "manual",
    input: { message: "Hello" },
    started_by_key_id: version.created_by_key_id,
    started_by_operator: "noura",
  });
  const { started_by_operator: _, ...shown } = run;
  // Callers see a run as if the key had started it.
  const row = await front.read(`/v1/runs/${run.id}`);
  expect(shown).toMatchObject(row);
  expect(row).not.toHaveProperty("started_by_operator");
  expect(await perform(front.app.admin, runOperations.show, { id: run.id }, ACTOR)).toEqual(run);
  const [entry] = await front.app.admin.audit.list({ limit: 1 });
  expect(entry).toMatchObject({
    ...{ actor: "noura", operation: "runs start", target: run.id, outcome: "done" },
    state_after: { started_by_operator: "noura", status: "queued" },
  });
  // The log outlives the texts of an account.
  expect(JSON.stringify(entry)).not.toContain("Hello");
});

test("a run keeps the metadata that it is started with, and is found by it", async () => {
  front = await startRuns();
  const act = (operation: "start" | "list" | "count", asked: object): Promise<unknown> =>
    perform(front!.app.admin, runOperations[operation] as never, asked as never, ACTOR);
  const { id: agent } = front.agent;
  const metadata = { ticket: "A-17", "": "empty", ["__proto__"]: "own" };
  const run = (await act("start", { agent, message: "Hello", metadata })) as Json;
  expect(run.metadata).toEqual(metadata);
  expect((await front.read(`/v1/runs/${run.id}`)).metadata).toEqual(metadata);
  await start(agent);
  const list = async (pairs: object) =>
    ((await act("list", { metadata: pairs })) as Json[]).map(({ id }) => id);
  expect(await list({ ticket: "A-17" })).toEqual([run.id]);
  expect(await list(metadata)).toEqual([run.id]);
  expect(await list({ ticket: "A-1" })).toEqual([]);
  expect(await act("count", { metadata: { ticket: "A-17" } })).toMatchObject({
    counts: { queued: 1 },
  });
  const long = { ticket: "x".repeat(513) };
  for (const [operation, asked] of [
    ["start", { agent, message: "Hello", metadata: long }],
    ["list", { metadata: long }],
    ["count", { metadata: long }],
  ] as const) {
    const says = "`metadata` must have texts of at most 512 characters as values.";
    expect(await act(operation, asked).catch(({ message }: Error) => message)).toBe(says);
  }
});

test("a run is started again with the same input, for the same key", async () => {
  front = await startRuns();
  const first = await front.begin({ input: { message: "Pay." } });
  await front.finish(first, "failed");
  const again = (id: string, more = {}) =>
    perform(front!.app.admin, runOperations.startAgain, { id, ...more }, ACTOR) as Promise<Json>;
  const run = await again(first.id.slice(-8));
  expect(run.id).not.toBe(first.id);
  const { agent_id, input, started_by_key_id } = first;
  expect(run).toMatchObject({ agent_id, input, started_by_key_id, started_by: "noura" });
  expect(run.rerun_of).toBeNull();
  const repeated = await again(first.id, { tools: "recorded" });
  expect(repeated).toMatchObject({ rerun_of: first.id, input, started_by_operator: "noura" });
  await expect(again(first.id, { version: 9 })).rejects.toThrow("no version");
  await expect(again(run.id, { tools: "live" })).rejects.toThrow("has not ended yet");
  const [, , , entry] = await front.app.admin.audit.list({ limit: 4 });
  expect(entry).toMatchObject({ operation: "runs again", target: run.id });
  const { id: other } = await findKey("-approver");
  const acted = await again(first.id, { key: other });
  expect(acted).toMatchObject({ started_by_key_id: other, input });
  // Not the key that made the agent's version.
  expect(await again(acted.id)).toMatchObject({ started_by_key_id: other, input });
  await front.app.admin.keys.revoke(started_by_key_id);
  await expect(again(first.id)).rejects.toThrow("give another with --key");
});

test("a run that is started again has the same images, without fetching them", async () => {
  const model = `capabilities = ["vision"]\nupstream = { kind = "stub" }\n`;
  front = await startRuns({ more: `[[models]]\nid = "seeing"\nself_hosted = true\n${model}` });
  const agent = await front.createAgent({ model: "seeing" });
  const url = `data:image/gif;base64,${btoa("GIF89a")}`;
  const content = [
    { type: "image_url", image_url: { url } },
    { type: "image_url", image_url: { url: "https://images.example.org/a.gif" } },
  ];
  const first = await front.begin({ input: { content } }, agent);
  const epoch = await front.claim();
  await front.store.storeImage(first.id, epoch, { place: 1, url });
  const again = { id: first.id };
  const run = (await perform(front.app.admin, runOperations.startAgain, again, ACTOR)) as Json;
  expect(run).toMatchObject({ input: first.input, external_content: true });
  expect(await front.store.listImages(run.id)).toEqual([
    { place: 0, url },
    { place: 1, url },
  ]);
});

test("a run is asked about images beside its message, as they are checked for a key", async () => {
  const model = (id: string, more = "") =>
    `[[models]]\nid = "${id}"\nself_hosted = true\n${more}upstream = { kind = "stub" }\n`;
  const seeing = model("seeing", 'capabilities = ["vision"]\n');
  front = await startRuns({ more: seeing + model("blind") });
  const { id: agent } = await front.createAgent({ model: "seeing" });
  const { id: blind } = await front.createAgent({ model: "blind", name: "Blind" });
  const ask = (images: string[], of = agent) =>
    perform(
      front!.app.admin,
      runOperations.start,
      { agent: of, message: "Look", images },
      ACTOR,
    ) as Promise<Json>;
  const base64 = btoa("GIF89a");
  const far = "https://images.example.org/a.gif";
  const run = await ask([`data:image/png;base64,${base64}`, far]);
  const image = (url: string) => ({ type: "image_url", image_url: { url } });
  expect(run.input).toEqual({
    message: "Look",
    content: [{ type: "text", text: "Look" }, image("data:image/gif;base64,…"), image(far)],
  });
  expect(run.external_content).toBe(true);
  expect(await front.store.listImages(run.id)).toEqual([
    { place: 1, url: `data:image/gif;base64,${base64}` },
  ]);
  expect((await ask([])).input).toEqual({ message: "Look" });
  const sent = `data:image/gif;base64,${base64}`;
  const refusals: [string[], string][] = [
    [[sent, "data:image/gif;base64,eHg="], "`images.1` must be a PNG, JPEG, WebP or GIF"],
    [["http://images.example.org/a.gif"], "The URL must begin with https://."],
    [Array(9).fill(far), "`images` must have at most 8 items"],
  ];
  for (const [images, says] of refusals) await expect(ask(images)).rejects.toThrow(says);
  await expect(ask([sent], blind)).rejects.toThrow("has no capability `vision`");
});

test("a run that a key starts names no operator", async () => {
  front = await startRuns();
  const { id } = await front.begin();
  const run = await perform(front.app.admin, runOperations.show, { id }, ACTOR);
  expect(run).toMatchObject({ started_by_operator: null });
});

test("a given key of the account acts, with its present rights", async () => {
  const model = (id: string) =>
    `[[models]]\nid = "${id}"\nself_hosted = true\nupstream = { kind = "stub" }\n`;
  front = await startRuns({ more: model("one") + model("two") });
  const { keys } = front.app.admin;
  const asked = { account: "dev", name: null, is_internal: false, max_output_tokens: null };
  const { key } = await keys.create({ ...asked, lifetimeMs: null, scopes: [], models: null });
  const begun = await start(front.agent.id, { key: key.id.slice(-8) });
  expect(begun.started_by_key_id).toBe(key.id);
  await keys.update(key.id, { models: ["two"] });
  await expect(start(front.agent.id, { key: key.id })).rejects.toThrow("may not call this model");
});

test("a key that may not act is refused with a sentence", async () => {
  front = await startRuns();
  const { id } = front.agent;
  for (const name of ["-revoked", "-expired", "-internal"]) {
    const { id: key } = await findKey(name);
    await expect(start(id, { key })).rejects.toThrow(
      `the key "${key}" is revoked, expired or internal: give another with --key`,
    );
  }
  for (const name of ["-other", "-ownerless"]) {
    const { id: key } = await findKey(name);
    await expect(start(id, { key })).rejects.toThrow("not of the agent's account");
  }
  await front.app.admin.keys.revoke(front.agent.version.created_by_key_id);
  await expect(start(id)).rejects.toThrow("which made the agent's version, is revoked");
});

test("a start obeys holds, archives and limits like any other", async () => {
  front = await startRuns({ limits: "active_runs = 1" });
  const { id } = front.agent;
  await front.app.admin.agents.hold(id, null);
  await expect(start(id)).rejects.toMatchObject({ kind: "invalid" });
  await front.app.admin.agents.release(id);
  await start(id);
  await expect(start(id)).rejects.toThrow("queued or running");
  await expect(start("0198f000-0000-7000-8000-000000000001")).rejects.toThrow("there is no agent");
});

test("agents.authentication.5 the operator who started a run may decide its approvals, its key may not", async () => {
  const asking = await startAsking();
  front = asking;
  const { id } = await start(asking.asking.id, { message: add("1 + 1") });
  const run = await follow(front, id, ({ status }) => status === "waiting_approval");
  const [approval] = run.pending_approvals;
  const path = `/v1/approvals/${approval}/approve`;
  expect((await front.post(path, {}, { key: KEY })).status).toBe(403);
  await perform(front.app.admin, approvalOperations.approve, { id: approval }, ACTOR);
  const ended = await follow(front, id, ({ status }) => status === "succeeded");
  expect(ended.pending_approvals).toEqual([]);
  expect(await front.read(`/v1/approvals/${approval}`)).toMatchObject({
    decided_by: { kind: "operator", id: "noura" },
  });
});

test("a queued run is cancelled at once, a running one asked to stop, a final one left alone", async () => {
  front = await startRuns();
  const cancel = (id: string) =>
    perform(front!.app.admin, runOperations.cancel, { id }, ACTOR) as Promise<Json>;
  const queued = await front.begin();
  expect(await cancel(queued.id)).toMatchObject({ status: "cancelled", is_changed: true });
  expect(await cancel(queued.id)).toMatchObject({ status: "cancelled", is_changed: false });
  const running = await front.begin();
  await front.claim();
  expect(await cancel(running.id)).toMatchObject({
    ...{ status: "running", cancel_requested: true, is_changed: true },
  });
  expect(await cancel(running.id)).toMatchObject({ status: "running", is_changed: false });
  await expect(cancel("0198f000-0000-7000-8000-000000000001")).rejects.toThrow("there is no run");
});
