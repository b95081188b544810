// Spec 001, "Authentication" 7: a valid signature fires a hook, and other requests learn nothing.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import { openRaw } from "../../http/raw-client.ts";
import { BODY, type HookFront, type Sending, signWith, startHook } from "./hook-front.ts";
import { expectRefusal } from "./refusal.ts";
import { NOWHERE } from "./routes.ts";
import type { Json } from "./runs-front.ts";
import { createTrigger, readJson } from "./service.ts";

const TOLERANCE_S = 300;
const SAME = { "x-request-id": "same" };
/** A sender's own. */
const IMPORTED = `whsec_${Buffer.alloc(24, "k").toString("base64")}`;

let front: HookFront;
beforeEach(async () => {
  front = await startHook();
});
afterEach(() => front.stop());

const now_s = () => Math.floor(front.clock.now() / 1_000);
const expectUnsigned = async (sending: Sending) =>
  expectRefusal(await front.send(sending), 401, "invalid_signature");
const rotate = async (hook: Json, overlap_seconds: number) =>
  readJson(await front.post(`/v1/triggers/${hook.id}/rotate-secret`, { overlap_seconds }));

describe("agents.authentication.p3 one refusal for every invalid signature", () => {
  test("agents.authentication.p3 agents.errors.invalid_signature every invalid signature gets identical bytes", async () => {
    const { hook } = front;
    const cron = { agent_id: front.agent.id, kind: "cron", cron: "0 0 1 1 *", name: "Yearly" };
    const scheduled = await createTrigger(front, cron);
    const other = await front.createHook();
    const deleted = await front.createHook();
    await front.ask("DELETE", `/v1/triggers/${deleted.id}`);
    const at = (id: string): Sending => ({ path: `/v1/hooks/${id}` });
    const wrong: Record<string, Sending> = {
      "another's secret": { secrets: [other.secret] },
      "another's trigger": at(other.id),
      "a secret that nobody has": { secrets: [IMPORTED] },
      "no signature": { headers: { "webhook-signature": null } },
      "an empty signature": { signature: "" },
      "nonsense for a signature": { signature: "v1,nonsense" },
      "a version of its own": { signature: "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" },
      "no id": { headers: { "webhook-id": null } },
      "another id": { headers: { "webhook-id": "another" } },
      "no time": { headers: { "webhook-timestamp": null } },
      "another time": { headers: { "webhook-timestamp": String(now_s() - 1) } },
      "a time that is none": { timestamp: "now" },
      "a stale time": { timestamp: now_s() - TOLERANCE_S - 1 },
      "a time to come": { timestamp: now_s() + TOLERANCE_S + 1 },
      "an id too long": { id: "x".repeat(129) },
      "a trigger that nobody has": at(NOWHERE),
      "the id of nothing": at("00000000-0000-0000-0000-000000000000"),
      "an id that is none": at("mine"),
      "an id that is far too long": at("x".repeat(4_000)),
      "half an id": at(hook.id.slice(0, -1)),
      "an encoded id": at(`%2e%2e%2f${hook.id}`),
      "an agent's id": at(front.agent.id),
      "a schedule's id": at(scheduled.id),
      "a trigger that was deleted": { ...at(deleted.id), secrets: [deleted.secret] },
    };
    const replies = new Set<string>();
    for (const [what, sending] of Object.entries(wrong)) {
      const headers = { ...SAME, ...sending.headers };
      const reply = await front.send({ ...sending, headers });
      expect([what, reply.status]).toEqual([what, 401]);
      replies.add(JSON.stringify([[...reply.headers], await reply.text()]));
    }
    expect([...replies]).toEqual([
      JSON.stringify([
        [
          ["content-type", "application/json"],
          ["x-request-id", "same"],
        ],
        JSON.stringify({
          error: {
            message: "The signature could not be verified.",
            ...{ type: "authentication_error", code: "invalid_signature", param: null },
          },
        }),
      ]),
    ]);
    expect(await front.countRuns()).toBe(0);
    expect(front.lines.filter(({ level }) => level !== "info")).toEqual([]);
    await front.fired();
  });

  test("agents.authentication.p2 the signature covers the bytes, not their meaning", async () => {
    const { hook } = front;
    const timestamp = String(now_s());
    const signature = signWith(hook.secret, "one", timestamp, '{"a":1}');
    await expectUnsigned({ id: "one", timestamp, signature, body: '{"a": 1}' });
    await expectUnsigned({ id: "one", timestamp, signature, body: '\ufeff{"a":1}' });
    await expectUnsigned({ id: "one", timestamp, signature, body: "" });
    await front.fired({ id: "one", timestamp, signature, body: '{"a":1}' });
  });

  test("agents.authentication.p2 the signature is verified before the body is parsed", async () => {
    await expectUnsigned({ body: "no JSON", secrets: [IMPORTED] });
    await expectRefusal(await front.send({ body: "no JSON" }), 400, "invalid_request");
  });
});

describe("agents.authentication.webhook_id agents.limits.hook_webhook_id", () => {
  const good = ["x", "x".repeat(128), "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "a b", "a, b"];
  test.each(good)("agents.limits.hook_webhook_id %j is valid", async (id) => {
    const { id: fire_id } = await front.fired({ id });
    expect(await front.listFires()).toMatchObject([{ id: fire_id, webhook_id: id }]);
  });

  const bad = ["x".repeat(129), "x".repeat(4_000), "caf\u00e9", "a\tb", "\u0080"];
  test.each(bad)(
    "agents.limits.hook_webhook_id %j is invalid, however it is signed",
    async (id) => {
      // A header's bytes are read as Latin-1: signed as they are read, and as they were sent.
      const timestamp = String(now_s());
      for (const named of [id, Buffer.from(id, "latin1").toString("utf8")]) {
        const signature = signWith(front.hook.secret, named, timestamp, BODY);
        await expectUnsigned({ id, timestamp, signature });
      }
    },
  );

  test("agents.limits.hook_webhook_id an absent id is invalid", async () => {
    await expectUnsigned({ id: "" });
  });
});

describe("agents.authentication.webhook_timestamp agents.limits.hook_timestamp_tolerance", () => {
  test("agents.limits.hook_timestamp_tolerance accepts 300 seconds in either direction, and no more", async () => {
    // In the middle of a second, too, it is the second that counts.
    for (const ms of [0, 999]) {
      await front.clock.advance(ms);
      for (const away of [0, -TOLERANCE_S, TOLERANCE_S]) {
        expect((await front.fired({ timestamp: now_s() + away })).outcome).toBe("started");
      }
      for (const away of [-TOLERANCE_S - 1, TOLERANCE_S + 1, -86_400, 86_400]) {
        await expectUnsigned({ timestamp: now_s() + away });
      }
    }
  });

  test("agents.authentication.webhook_timestamp accepts whole seconds, verified in the text that was signed", async () => {
    const at = String(now_s());
    await front.fired({ timestamp: `0${at}` });
    const spellings = [`${at}.0`, `+${at}`, `-${at}`, `${at}abc`, `0x${now_s().toString(16)}`, ""];
    const others = [`${at}000`, `${now_s() / 1e9}e9`, `${at} ${at}`, `${at},${at}`, "0", "NaN"];
    for (const timestamp of [...spellings, ...others, "9".repeat(400), "Infinity"]) {
      await expectUnsigned({ timestamp });
    }
  });

  test("agents.limits.hook_timestamp_tolerance the tolerance is relative to the current time: an accepted timestamp becomes stale", async () => {
    const timestamp = now_s();
    await front.clock.advance((TOLERANCE_S + 1) * 1_000);
    await expectUnsigned({ timestamp, id: "one" });
    // The same message with a new signature is accepted.
    await front.fired({ id: "one" });
  });
});

describe("agents.authentication.webhook_signature", () => {
  test("agents.authentication.webhook_signature one valid signature of several is enough", async () => {
    const good = front.sign({ id: "one" }).headers["webhook-signature"]!;
    const bad = front.sign({ id: "one", secrets: [IMPORTED] }).headers["webhook-signature"]!;
    await front.fired({ id: "one", signature: `${bad} v2,x v1a,y ${good}` });
    await expectUnsigned({ id: "two", signature: `${bad} ${bad}` });
  });

  test("agents.authentication.webhook_signature during a rotation both secrets verify, afterwards only the new one", async () => {
    const { hook } = front;
    const { secret } = await rotate(hook, 60);
    expect(secret).not.toBe(hook.secret);
    for (const secrets of [[hook.secret], [secret], [hook.secret, secret]]) {
      await front.fired({ secrets });
    }
    await front.clock.advance(59_999);
    await front.fired({ secrets: [hook.secret] });
    await front.clock.advance(1);
    await expectUnsigned({ secrets: [hook.secret] });
    await front.fired({ secrets: [hook.secret, secret] });
  });

  test("agents.authentication.webhook_signature of three secrets the oldest no longer verifies; without an overlap neither does the previous one", async () => {
    const { hook } = front;
    const second = await rotate(hook, 60);
    const third = await rotate(hook, 60);
    await expectUnsigned({ secrets: [hook.secret] });
    await front.fired({ secrets: [second.secret] });
    await front.fired({ secrets: [third.secret] });
    const fourth = await rotate(hook, 0);
    await expectUnsigned({ secrets: [third.secret] });
    await front.fired({ secrets: [fourth.secret] });
  });

  test("agents.resources.trigger a secret supplied by the sender verifies", async () => {
    for (const bytes of [24, 32, 64]) {
      const secret = `whsec_${Buffer.alloc(bytes, bytes).toString("base64")}`;
      const hook = await front.createHook({ secret });
      await front.fired({ hook, secrets: [secret] });
      await expectUnsigned({ hook, secrets: [IMPORTED] });
    }
  });
});

describe("agents.authentication.7 signatures by the packages of the standard's authors", () => {
  test.each([
    ["standardwebhooks", Standard],
    ["svix", Svix],
  ] as const)(
    "agents.authentication.7 agents.authentication.p1 %s is accepted",
    async (_, Webhook) => {
      for (const [n, body] of ["{}", BODY, '"é 😀"', `"${"x".repeat(60_000)}"`].entries()) {
        const at = new Date(front.clock.now());
        const id = `msg_${n}`;
        const signature = new Webhook(front.hook.secret).sign(id, at, body);
        expect((await front.fired({ id, signature, body })).outcome).toBe("started");
      }
      const imported = await front.createHook({ secret: IMPORTED });
      const at = new Date(front.clock.now());
      const signature = new Webhook(IMPORTED).sign("msg_1", at, BODY);
      await front.fired({ hook: imported, id: "msg_1", signature });
    },
  );
});

describe("repeated headers", () => {
  let raw: HookFront;
  beforeEach(async () => {
    raw = await startHook({}, { listens: true });
  });
  afterEach(() => raw.stop());

  /** The reply to these exact header lines. */
  const send = async (lines: string[], body = BODY) => {
    const client = await openRaw(raw.url);
    const head = [`POST ${raw.hook.hook_path} HTTP/1.1`, "Host: localhost", ...lines];
    const rest = [`Content-Length: ${Buffer.byteLength(body)}`, "", body];
    client.write([...head, ...rest].join("\r\n"));
    const reply = (await client.read())!;
    client.leave();
    const { error } = JSON.parse(reply.body);
    return [reply.status, error?.code];
  };
  const list = (headers: Record<string, string>) =>
    Object.entries(headers).map(([name, value]) => `${name}: ${value}`);

  test("agents.errors.invalid_signature a repeated signature header is refused", async () => {
    const { headers } = raw.sign({ id: "one" });
    const other = {
      ...{ "webhook-id": "two", "webhook-timestamp": "1" },
      "webhook-signature": raw.sign({ secrets: [IMPORTED] }).headers["webhook-signature"]!,
    };
    for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"] as const) {
      for (const second of [headers[name]!, other[name], ""]) {
        const twice = `${name.toUpperCase()}: ${second}`;
        for (const lines of [
          [...list(headers), twice],
          [twice, ...list(headers)],
        ]) {
          expect([name, second, await send(lines)]).toEqual([
            ...[name, second, [401, "invalid_signature"]],
          ]);
        }
      }
    }
    expect(await send(list(headers))).toEqual([202, undefined]);
  });

  test("agents.errors.unsupported_media_type a repeated content type is not JSON", async () => {
    const lines = list(raw.sign().headers);
    expect(await send([...lines, "content-type: application/json"])).toEqual([
      ...[415, "unsupported_media_type"],
    ]);
  });

  test("a webhook-id with non-ASCII bytes is invalid in any encoding", async () => {
    const { headers } = raw.sign({ id: "one" });
    for (const id of ["caf\u00e9", Buffer.from("café").toString("latin1"), "a\u007fb"]) {
      const signature = signWith(raw.hook.secret, id, headers["webhook-timestamp"]!, BODY);
      const sent = { ...headers, "webhook-id": id, "webhook-signature": signature };
      expect([id, await send(list(sent))]).toEqual([id, [401, "invalid_signature"]]);
    }
  });
});
