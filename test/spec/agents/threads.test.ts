// The agents API for a thread's owner; the store itself starts and writes the runs.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { runStore } from "../../../src/agents/runs/store/index.ts";
import { processStore } from "../../../src/cluster/store.ts";
import { encodeCursor } from "../../../src/http/index.ts";
import { KEY, type TestApp } from "../../support/app.ts";
import { makePreparedRun, makeRecord } from "../../support/runs.ts";
import { type Document, findBreach } from "../gateway/document.ts";
import { allow } from "../gateway/keys.ts";
import { expectRefusal } from "./refusal.ts";
import { createAgent, type Json, readJson, startService } from "./service.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startService();
});
afterAll(() => app.stop());

/** An account with an agent, and runs of it that nothing executes. */
async function openThreads(name: string) {
  const runs = app.app.database.bind(runStore);
  const { account_id, key } = await allow(app, name, { scopes: ["agents"] });
  const { id: agent_id } = await createAgent(app, {}, { key });
  const start = async (fields: object = {}, thread_id: string | null = null) => {
    const own = { account_id, agent_id, thread_id: crypto.randomUUID() };
    const run = { ...own, created_at: app.clock.now(), input: { message: "Hello" }, ...fields };
    const message_id = crypto.randomUUID();
    const prepared = makePreparedRun(crypto.randomUUID(), run, { thread_id, message_id });
    return (await runs.start(prepared)).run;
  };
  const read = async (path: string): Promise<Json> =>
    readJson(await app.get(`/v1/threads${path}`, { key }));
  return { runs, account_id, agent_id, key, start, read };
}

describe("GET /v1/threads/{id}", () => {
  test("agents.endpoints.threads.get_threads_id agents.does.thread returns the run in progress", async () => {
    const { agent_id, account_id, runs, start, read } = await openThreads("one-thread");
    const { id: run_id, thread_id } = await start();
    const created_at = new Date(app.clock.now()).toISOString();
    const busy = {
      ...{ id: thread_id, agent_id, title: null, status: "busy", active_run_id: run_id },
      ...{ message_count: 1, external_content: false, created_at, updated_at: created_at },
    };
    expect(await read(`/${thread_id}`)).toEqual(busy);
    await app.clock.advance(5_000);
    await runs.cancel(run_id, account_id, [crypto.randomUUID()], app.clock.now());
    const idle = { ...busy, status: "idle", active_run_id: null };
    expect(await read(`/${thread_id}`)).toEqual(idle);
    // agents.does.thread: the next run adds to it.
    const next = await start({}, thread_id);
    const updated_at = new Date(app.clock.now()).toISOString();
    const again = { ...busy, active_run_id: next.id, message_count: 2, updated_at };
    expect(await read(`/${thread_id.toUpperCase()}`)).toEqual(again);
  });

  test("agents.authentication.6 agents.errors.thread_not_found another account's thread is reported as not found", async () => {
    const { start } = await openThreads("hidden-thread");
    const { thread_id } = await start();
    const missing = crypto.randomUUID();
    for (const key of [KEY, `${KEY}-ownerless`]) {
      for (const end of ["", "/messages"]) {
        const theirs = await app.get(`/v1/threads/${thread_id}${end}`, { key });
        const none = await app.get(`/v1/threads/${missing}${end}`, { key });
        expect(await theirs.clone().text()).toBe(await none.text());
        await expectRefusal(theirs, 404, "thread_not_found");
      }
    }
    for (const end of ["", "/messages"]) {
      await expectRefusal(await app.get(`/v1/threads/x${end}`), 400, undefined, "id");
    }
  });
});

describe("GET /v1/threads", () => {
  const ids = ({ data }: Json): string[] => data.map(({ id }: Json) => id);

  test("pages the caller's threads, newest first, or those of one agent", async () => {
    const { key, start, read } = await openThreads("many-threads");
    expect(await read("")).toEqual({ data: [], next_before: null });
    const made: string[] = [];
    for (let n = 0; n < 60; n++) {
      // Several at the same moment: their ids decide.
      if (n % 4 === 0) await app.clock.advance(1);
      made.push((await start()).thread_id);
    }
    const { id: other } = await createAgent(app, {}, { key });
    await app.clock.advance(1);
    const { thread_id } = await start({ agent_id: other });
    const first = await read("");
    expect([first.data.length, ids(first)[0]]).toEqual([50, thread_id]);
    const second = await read(`?before=${first.next_before}`);
    expect([second.data.length, second.next_before]).toEqual([11, null]);
    const all = [...ids(first), ...ids(second)];
    expect(all.toSorted()).toEqual([...made, thread_id].toSorted());
    const times = [...first.data, ...second.data].map(({ created_at }) => created_at);
    expect(times).toEqual(times.toSorted().toReversed());
    const small: string[] = [];
    for (let before = ""; ; ) {
      const page = await read(`?limit=7${before}`);
      small.push(...ids(page));
      if (page.next_before === null) break;
      before = `&before=${page.next_before}`;
    }
    expect(small).toEqual(all);
    const whole = await read("?limit=61");
    expect([ids(whole), whole.next_before]).toEqual([all, null]);
    expect(ids(await read(`?agent_id=${other.toUpperCase()}`))).toEqual([thread_id]);
    for (const asker of [KEY, `${KEY}-ownerless`]) {
      for (const agent of [other, crypto.randomUUID()]) {
        const reply = await app.get(`/v1/threads?agent_id=${agent}`, { key: asker });
        await expectRefusal(reply, 404, "agent_not_found");
      }
    }
    const none = await readJson(await app.get("/v1/threads", { key: `${KEY}-ownerless` }));
    expect(none).toEqual({ data: [], next_before: null });
  });

  test("agents.errors.p9 an invalid page is refused", async () => {
    const { start, read, key, account_id, agent_id } = await openThreads("no-pages");
    const others = await openThreads("others-pages");
    for (let n = 0; n < 2; n++) {
      await start();
      await others.start();
    }
    const { next_before } = await read("?limit=1");
    const theirs = (await others.read("?limit=1")).next_before;
    const ofAgent = (await read(`?limit=1&agent_id=${agent_id}`)).next_before;
    const id = crypto.randomUUID();
    const forged = [[], [1], ["1", id], [1.5, id], [2 ** 60, id], [1, 2], [1, `${id}\0`], [1, "x"]];
    const refusals = {
      limit: ["limit=0", "limit=201", "limit=x"],
      agent_id: ["agent_id=x", "agent_id="],
      before: [
        ...["before=", "before=x", `before=${next_before}x`, `before=${"a".repeat(129)}`],
        ...[`before=${theirs}`, `before=${ofAgent}`, `before=${next_before}&agent_id=${agent_id}`],
        ...forged.map((place) => `before=${encodeCursor(`threads of ${account_id}`, place)}`),
      ],
      status: ["status=idle"],
    };
    for (const [param, queries] of Object.entries(refusals)) {
      for (const query of queries) {
        const reply = await app.get(`/v1/threads?${query}`, { key });
        await expectRefusal(reply, 400, undefined, param);
      }
    }
  });
});

describe("GET /v1/threads/{id}/messages", () => {
  test("agents.endpoints.threads.get_threads_id_messages agents.limits.thread_messages returns every message, or the last ones", async () => {
    const { account_id, runs, start, read } = await openThreads("messages");
    const run = await start();
    const path = `/${run.thread_id}/messages`;
    const [first] = (await read(path)).data;
    expect(first).toEqual({
      ...{ id: expect.any(String), thread_id: run.thread_id, run_id: run.id, seq: 1 },
      ...{ role: "user", content: "Hello", parts: null, tool_calls: null, tool_call_id: null },
      ...{ external: false, created_at: new Date(app.clock.now()).toISOString() },
    });
    const epoch = await app.app.database.bind(processStore).register(app.clock.now());
    await runs.claim(epoch, [{ account_id, runsMax: 9 }], app.clock.now());
    const call = { id: "call-1", name: "calculator", arguments: "{}" };
    const added = [
      { role: "assistant" as const, content: null, tool_calls: [call], tool_call_id: null },
      { role: "tool" as const, content: "42", tool_calls: null, tool_call_id: "call-1" },
      ...Array.from({ length: 600 }, (_, i) => {
        const content = `${i}`;
        return { role: "assistant" as const, content, tool_calls: null, tool_call_id: null };
      }),
    ].map((message) => ({ ...message, id: crypto.randomUUID(), external: false }));
    await runs.settle({ ...makeRecord(run.id), epoch, messages: added });
    const { data } = await read(path);
    expect(data.map(({ seq }: Json) => seq)).toEqual(Array.from({ length: 603 }, (_, i) => i + 1));
    expect(data.slice(0, 3)).toMatchObject([first, added[0], added[1]] as Json);
    expect((await read(`${path}?limit=500`)).data).toEqual(data.slice(-500));
    expect((await read(`${path}?limit=1`)).data).toEqual(data.slice(-1));
    expect(await read(`/${run.thread_id}`)).toMatchObject({ message_count: 603 });
  });

  test("agents.limits.thread_messages refuses any other number of messages", async () => {
    const { start, key } = await openThreads("no-messages");
    const { thread_id } = await start();
    for (const query of ["limit=0", "limit=501", "limit=x"]) {
      const reply = await app.get(`/v1/threads/${thread_id}/messages?${query}`, { key });
      await expectRefusal(reply, 400, undefined, "limit");
    }
    const reply = await app.get(`/v1/threads/${thread_id}/messages?before=1`, { key });
    await expectRefusal(reply, 400, undefined, "before");
  });
});

test("agents.resources.p1 threads and messages have every field of their schemas", async () => {
  const document = (await readJson(await app.get("/openapi.json"))) as Document;
  const { schemas } = document.components;
  const { start, read } = await openThreads("schemas");
  const { thread_id } = await start();
  const shown: [string, Json][] = [
    ["ThreadList", await read("")],
    ["Thread", await read(`/${thread_id}`)],
    ["MessageList", await read(`/${thread_id}/messages`)],
    ["Message", (await read(`/${thread_id}/messages`)).data[0]],
  ];
  for (const [name, value] of shown) {
    expect([name, Object.keys(value)]).toEqual([name, Object.keys(schemas[name]!.properties!)]);
    expect([name, findBreach(document, schemas[name]!, value)]).toEqual([name, []]);
  }
});

test("a run loads the newest messages of its thread, up to four million characters", async () => {
  const { account_id, runs, start } = await openThreads("long-thread");
  const message = "m".repeat(100_000);
  let run = await start({ input: { message } });
  for (let i = 2; i <= 60; i++) {
    await runs.cancel(run.id, account_id, [crypto.randomUUID()], app.clock.now());
    run = await start({ input: { message: i < 60 ? message : "the last" } }, run.thread_id);
  }
  const { messages } = await runs.load(run);
  expect(messages.map(({ seq }) => seq)).toEqual(Array.from({ length: 43 }, (_, i) => i + 18));
  expect(messages.at(-1)!.content).toBe("the last");
});
