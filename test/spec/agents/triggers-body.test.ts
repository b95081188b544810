// Refused bodies of triggers: fields of the other kind, schedules, zones, secrets.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { expectRefusal, readRefusal } from "./refusal.ts";
import { readJson } from "./service.ts";
import { DAILY, PATH, startTriggers, type TriggersFront } from "./triggers-front.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const bytes = (count: number) => `whsec_${Buffer.alloc(count, 7).toString("base64")}`;

let front: TriggersFront;
beforeAll(async () => {
  front = await startTriggers();
});
afterAll(() => front.stop());

describe("agents.errors.invalid_request what no trigger can be", () => {
  const CRONS = [
    ...["", " ", "* * * *", "* * * * * *", "@daily", "every day", "0 9 * * 8", "60 * * * *"],
    ...["0 24 * * *", "0 0 0 * *", "0 0 32 * *", "0 0 1 13 *", "*/0 * * * *", "5-1 * * * *"],
    ...["0 0 L * *", "0 0 15W * *", "0 0 * * 5#2", "? * * * *", "0 9 * * FOO", "1,,2 * * * *"],
    ...["-1 * * * *", "1.5 * * * *", "0 9 * * MON-", "* * * * *\n* * * * *", "٣ * * * *"],
    // 30 February, and 31 of months that have none.
    ...["0 0 30 2 *", "0 0 31 4,6,9,11 *"],
  ];
  test.each(CRONS)("agents.resources.trigger the schedule %j is refused", async (cron) => {
    const reply = await front.askCreate({ ...DAILY, cron });
    await expectRefusal(reply, 400, "invalid_request", "cron");
    const { id } = await front.createDaily();
    await expectRefusal(await front.patch(id, { cron }), 400, "invalid_request", "cron");
  });

  const ZONES = ["", "Mars/Olympus", "+03:00", "UTC+3", "Europe", "../UTC", "Asia/Riyadh "];
  test.each(ZONES)("agents.resources.trigger the zone %j is refused", async (time_zone) => {
    const reply = await front.askCreate({ ...DAILY, time_zone });
    await expectRefusal(reply, 400, "invalid_request", "time_zone");
    const { id } = await front.createDaily();
    const changed = await front.patch(id, { time_zone });
    await expectRefusal(changed, 400, "invalid_request", "time_zone");
  });

  const KINDS: [string, object, string][] = [
    ["a schedule without one", { kind: "cron" }, "cron"],
    ["a schedule that is null", { kind: "cron", cron: null }, "cron"],
    ["a schedule with a secret", { ...DAILY, secret: SECRET }, "secret"],
    ["a hook with a schedule", { cron: "* * * * *" }, "cron"],
    ["a hook with a zone", { time_zone: "UTC" }, "time_zone"],
    ["a hook that catches up", { catch_up_seconds: 60 }, "catch_up_seconds"],
    ["a hook that catches up at once", { catch_up_seconds: 0 }, "catch_up_seconds"],
  ];
  test.each(KINDS)("%s", async (_, fields, param) => {
    await expectRefusal(await front.askCreate(fields), 400, "invalid_request", param);
  });

  const FIELDS: [object, string][] = [
    [{ cron: "* * * * *" }, "cron"],
    [{ time_zone: "UTC" }, "time_zone"],
    [{ catch_up_seconds: 0 }, "catch_up_seconds"],
  ];
  test.each(FIELDS)("a hook with %j is refused", async (fields, param) => {
    const { id } = await front.create();
    await expectRefusal(await front.patch(id, fields), 400, "invalid_request", param);
    await readJson(await front.patch(id, { [param]: null }));
  });

  test("a schedule cannot be removed", async () => {
    const { id } = await front.createDaily();
    await expectRefusal(await front.patch(id, { cron: null }), 400, "invalid_request", "cron");
  });

  const SECRETS = [
    ...["", "whsec_", "canary", `${SECRET} `, ` ${SECRET}`, "whsec_canary!", "WHSEC_canary"],
    ...[bytes(23), bytes(65), `${bytes(24)}=`, `whsec_${"canary".repeat(40)}`, `${SECRET}\n`],
  ];
  test.each(SECRETS)(
    "agents.resources.trigger the secret %j is refused without repeating it",
    async (secret) => {
      const reply = await front.askCreate({ secret });
      expect(await reply.clone().text()).not.toMatch(/canary|MfKQ9|BwcH/);
      await expectRefusal(reply, 400, "invalid_request", "secret");
    },
  );
});

describe("agents.errors.p4 a schema error has no code", () => {
  const WRONG: [object, string][] = [
    [{ name: "" }, "name"],
    [{ name: "n".repeat(201) }, "name"],
    [{ name: "a\0b" }, "name"],
    [{ agent_id: "mine" }, "agent_id"],
    [{ kind: "email" }, "kind"],
    [{ overlap: "queue" }, "overlap"],
    [{ overlap: null }, "overlap"],
    [{ thread_id: "mine" }, "thread_id"],
    [{ cron: "* ".repeat(70) }, "cron"],
    [{ time_zone: "x".repeat(65) }, "time_zone"],
    [{ catch_up_seconds: -1 }, "catch_up_seconds"],
    [{ catch_up_seconds: 86_401 }, "catch_up_seconds"],
    [{ catch_up_seconds: 1.5 }, "catch_up_seconds"],
    [{ input: {} }, "input.message"],
    [{ input: { message: "" } }, "input.message"],
    [{ input: { message: "m".repeat(100_001) } }, "input.message"],
    [{ input: { message: "a\0b" } }, "input.message"],
    [{ input: { message: "Go", hook: {} } }, "input.hook"],
    [{ hook_path: "/v1/hooks/mine" }, "hook_path"],
    [{ status: "paused" }, "status"],
    [{ next_fire_at: "2026-11-20T12:00:00.000Z" }, "next_fire_at"],
  ];
  test.each(WRONG)("agents.errors.p9 POST %j", async (fields, param) => {
    const reply = await front.askCreate({ ...DAILY, ...fields });
    expect(await readRefusal(reply)).toEqual([400, undefined, param]);
  });

  test("agents.errors.p9 a secret of another type is not repeated", async () => {
    for (const secret of [123_456_789_123, ["canary"], { a: "canary" }, "canary".repeat(50)]) {
      const reply = await front.askCreate({ secret });
      expect(await reply.clone().text()).not.toMatch(/canary|1234567/);
      expect(await readRefusal(reply)).toEqual([400, undefined, "secret"]);
    }
  });

  const FIXED = ["kind", "agent_id", "thread_id", "secret", "key_id", "id", "upcoming"];
  test.each(FIXED)(
    "agents.errors.p9 PATCH of %s is refused, and leaves it unchanged",
    async (field) => {
      const { id } = await front.create();
      const reply = await front.patch(id, { [field]: null });
      expect(await readRefusal(reply)).toEqual([400, undefined, field]);
    },
  );

  test("agents.errors.p9 an overlap of secrets that is too long or invalid is refused", async () => {
    const { id } = await front.create();
    for (const overlap_seconds of [-1, 604_801, 0.5, "60"]) {
      const reply = await front.rotate(id, { overlap_seconds });
      expect(await readRefusal(reply)).toEqual([400, undefined, "overlap_seconds"]);
    }
    for (const overlap_seconds of [604_800, null]) {
      await readJson(await front.rotate(id, { overlap_seconds }));
    }
  });
});

test("agents.resources.trigger optional fields accept null, and bounds are inclusive", async () => {
  const nothing = { input: null, thread_id: null, catch_up_seconds: null, time_zone: null };
  expect(await front.create({ ...nothing, cron: null, secret: null })).toMatchObject({
    ...{ ...nothing, cron: null, secret: expect.stringContaining("whsec_") },
  });
  const timed = { kind: "cron", cron: " 0\t0 1 JAN sun " };
  expect(await front.create({ ...timed, ...nothing })).toMatchObject({
    ...{ ...timed, time_zone: "UTC", catch_up_seconds: 3_600, overlap: "skip" },
  });
  for (const secret of [bytes(24), bytes(64)]) {
    expect(await front.create({ secret })).toMatchObject({ secret });
  }
  const most = { name: "😀".repeat(200), input: { message: "m".repeat(100_000) } };
  expect(await front.createDaily({ ...most, catch_up_seconds: 86_400 })).toMatchObject(most);
  // Half a character is none: what is kept is whole.
  const halves = { name: "a\ud800b", input: { message: "c\udc00d" } };
  expect(await front.create(halves)).toMatchObject({
    ...{ name: "a\ufffdb", input: { message: "c\ufffdd" } },
  });
  const { id } = await front.create();
  const changed = { name: "e\udc00f", input: { message: "g\ud800h" } };
  expect(await readJson(await front.patch(id, changed))).toMatchObject({
    ...{ name: "e\ufffdf", input: { message: "g\ufffdh" } },
  });
  expect((await front.get(PATH)).status).toBe(200);
});
