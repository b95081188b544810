// Spec 001, "Triggers and hook": what a signed request starts, and what the same one does again.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { KEY } from "../../support/app.ts";
import { listEvents } from "./approvals-front.ts";
import { BODY, type HookFront, startHook } from "./hook-front.ts";
import { expectRefusal } from "./refusal.ts";
import { listSigned, readDocument } from "./routes.ts";

const BYTES_MAX = 64 * 1024;

let front: HookFront;
beforeEach(async () => {
  front = await startHook();
});
afterEach(() => front.stop());

describe("agents.endpoints.triggers.p3", () => {
  test("agents.endpoints.triggers.p3 agents.authentication.1 agents.endpoints.p1 a signed request needs no key", async () => {
    expect(front.hook.hook_path).toBe(`/v1/hooks/${front.hook.id}`);
    for (const authorization of [
      null,
      "Bearer nonsense",
      `Bearer ${KEY}`,
      `Bearer ${KEY}-expired`,
    ]) {
      expect((await front.fired({ headers: { authorization } })).outcome).toBe("started");
    }
  });

  test("agents.endpoints.triggers.p3 a key without a signature is not accepted", async () => {
    const headers = { "content-type": "application/json" };
    const reply = await front.post(front.hook.hook_path, BODY, { headers });
    await expectRefusal(reply, 401, "invalid_signature");
  });

  test("agents.endpoints.p1 the document lists it as the only route without a key", async () => {
    const signed = listSigned(await readDocument(front));
    expect(signed.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /v1/hooks/{trigger_id}",
    ]);
  });

  test("agents.endpoints.triggers.p3 any other method is not found", async () => {
    for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      await expectRefusal(await front.ask(method, front.hook.hook_path), 404, "not_found");
    }
  });

  test("agents.endpoints.triggers.p3 its id is case-insensitive, and the query is ignored", async () => {
    await front.fired({
      path: front.hook.hook_path.replace(front.hook.id, front.hook.id.toUpperCase()),
    });
    await front.fired({ path: `${front.hook.hook_path}?token=1` });
  });
});

describe("agents.endpoints.triggers.p5", () => {
  test("agents.endpoints.triggers.p5 agents.does.trigger it starts a run on behalf of the trigger's key", async () => {
    const fire = await front.fired({ id: "order-17" });
    expect(fire.outcome).toBe("started");
    const run = await front.read(`/v1/runs/${fire.run_id}`);
    expect(run).toMatchObject({
      ...{ status: "queued", agent_id: front.agent.id, trigger_kind: "webhook" },
      ...{ trigger_id: front.hook.id, fire_id: fire.id, started_by_key_id: front.hook.key_id },
    });
    expect(await front.listFires()).toEqual([
      {
        ...{ ...fire, trigger_id: front.hook.id, source: "webhook", scheduled_at: null },
        ...{ webhook_id: "order-17", missed_count: 0, error: null },
        created_at: new Date(front.clock.now()).toISOString(),
      },
    ]);
  });

  test("agents.endpoints.triggers.p5 a fire blocked by an earlier run is skipped, and reported as skipped", async () => {
    const hook = await front.createHook({ overlap: "skip" });
    const first = await front.fired({ hook });
    const second = await front.fired({ hook, id: "again" });
    expect([second.outcome, second.run_id]).toEqual(["skipped", null]);
    // agents.endpoints.triggers.p6: it has consumed the id.
    await front.finish(await front.read(`/v1/runs/${first.run_id}`));
    expect(await front.fired({ hook, id: "again" }, 200)).toEqual(second);
    expect((await front.fired({ hook })).outcome).toBe("started");
  });

  test("agents.events.webhook.4 agents.does.trigger every fire is an event, and a repeated request is none", async () => {
    const { id, name, kind, agent_id } = front.hook;
    await front.fired({ id: "one" });
    await front.fired({ id: "one" }, 200);
    const events = (await listEvents(front)).filter(([type]) => type === "trigger.fired");
    const [fire] = await front.listFires();
    expect(events).toEqual([["trigger.fired", { trigger: { id, name, kind, agent_id }, fire }]]);
  });
});

describe("agents.endpoints.triggers.p6 a known webhook-id", () => {
  test("agents.endpoints.triggers.p6 is answered with its first fire and starts nothing, whatever the repeat contains", async () => {
    const first = await front.fired({ id: "order-17" });
    const again = await front.send({ id: "order-17" });
    expect([again.status, await again.json()]).toEqual([200, { fire: first }]);
    expect(await front.fired({ id: "order-17", body: '{"ticket":18}' }, 200)).toEqual(first);
    expect(await front.fired({ id: "order-17", body: "no JSON" }, 200)).toEqual(first);
    await front.clock.advance(3_600_000);
    expect(await front.fired({ id: "order-17" }, 200)).toEqual(first);
    expect(await front.countRuns()).toBe(1);
    expect(await front.listFires()).toHaveLength(1);
  });

  test("agents.endpoints.triggers.p6 is recognised even when its run is over, the trigger paused, its agent held, or its limit reached", async () => {
    const first = await front.fired({ id: "order-17" });
    await front.finish(await front.read(`/v1/runs/${first.run_id}`));
    await front.app.admin.agents.hold(front.agent.id, null);
    expect(await front.fired({ id: "order-17" }, 200)).toEqual(first);
    await front.ask("PATCH", `/v1/triggers/${front.hook.id}`, { body: { status: "paused" } });
    expect(await front.fired({ id: "order-17" }, 200)).toEqual(first);
  });

  test("agents.endpoints.triggers.p6 belongs to its trigger, and is case-sensitive", async () => {
    const other = await front.createHook();
    const fires = [
      await front.fired({ id: "order-17" }),
      await front.fired({ id: "Order-17" }),
      await front.fired({ id: "order-17 x" }),
      await front.fired({ hook: other, id: "order-17" }),
    ];
    expect(new Set(fires.map(({ run_id }) => run_id)).size).toBe(4);
  });

  test("agents.endpoints.triggers.p6 is looked up only after the signature is verified", async () => {
    await front.fired({ id: "order-17" });
    const reply = await front.send({ id: "order-17", secrets: ["whsec_AAAA"] });
    await expectRefusal(reply, 401, "invalid_signature");
  });
});

describe("agents.endpoints.triggers.p4 its body", () => {
  const values = [
    ...["{}", "[]", "null", "true", "0", "-1.5e3", '"text"', '""', ' {"a": [1, "ü", null]} \n'],
    ...['"\\ud83d\\ude00 \\u0000 \\ud800"', '{"hook":{"message":"x"},"__proto__":1}'],
    "[".repeat(64) + "]".repeat(64),
  ];
  test.each(values)(
    "agents.endpoints.triggers.p4 %j is JSON, and is passed to the run",
    async (body) => {
      const { run_id } = await front.fired({ body });
      const text = await (await front.get(`/v1/runs/${run_id}`)).text();
      const { input, external_content } = JSON.parse(text);
      expect([Object.keys(input), external_content]).toEqual([["message", "hook"], true]);
      expect(JSON.stringify(input.hook)).toBe(JSON.stringify(JSON.parse(body)));
    },
  );

  const others: [string, string | Uint8Array][] = [
    ["nothing", ""],
    ["a space", " "],
    ["half an object", "{"],
    ["two values", "{}{}"],
    ["what only JavaScript reads", "NaN"],
    ["a form", "a=b&c=d"],
    ["65 levels", "[".repeat(65) + "]".repeat(65)],
    ["bytes that are no UTF-8", Uint8Array.from([0x22, 0xff, 0x22])],
  ];
  test.each(others)(
    "agents.errors.invalid_request %s is not JSON, and starts nothing",
    async (_, body) => {
      await expectRefusal(await front.send({ body, id: "one" }), 400, "invalid_request");
      expect(await front.listFires()).toEqual([]);
      // It has not consumed its id.
      expect((await front.fired({ id: "one" })).outcome).toBe("started");
    },
  );

  test("agents.endpoints.triggers.p4 agents.limits.body_size 64 KiB are read, and one byte more is refused", async () => {
    const fill = (bytes: number) => `"${"x".repeat(bytes - 2)}"`;
    await front.fired({ body: fill(BYTES_MAX) });
    const reply = await front.send({ body: fill(BYTES_MAX + 1) });
    await expectRefusal(reply, 413, undefined);
    // Bytes count, not characters.
    await expectRefusal(
      await front.send({ body: `"${"ü".repeat(BYTES_MAX / 2)}"` }),
      413,
      undefined,
    );
  });

  test("agents.endpoints.triggers.p4 agents.errors.unsupported_media_type must have the content type of JSON", async () => {
    for (const type of ["application/json; charset=utf-8", "Application/Json"]) {
      await front.fired({ headers: { "content-type": type } });
    }
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "text/json"]) {
      const reply = await front.send({ headers: { "content-type": type } });
      await expectRefusal(reply, 415, "unsupported_media_type");
    }
    const bytes = Buffer.from(BODY);
    const reply = await front.send({ body: bytes, headers: { "content-type": null } });
    await expectRefusal(reply, 415, "unsupported_media_type");
    // Before the signature is checked.
    const unsigned = { signature: "", headers: { "content-type": "text/plain" } };
    await expectRefusal(await front.send(unsigned), 415, "unsupported_media_type");
  });
});
