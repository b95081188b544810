// Secrets of triggers: rotated, imported, never shown again, and not to be had without their key.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { signMessage } from "../../../src/crypto/signing/signature.ts";
import { expectRefusal } from "./refusal.ts";
import { type Json, readJson } from "./service.ts";
import { PATH, startTriggers, type TriggersFront } from "./triggers-front.ts";

const OWN = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const DAY_S = 86_400;

let directory: string;
let front: TriggersFront;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "wadi-triggers-"));
  front = await startTriggers({
    secretsKeyFile: join(directory, "secrets.key"),
    place: { kind: "sqlite", file: join(directory, "wadi.db") },
  });
});
afterEach(async () => {
  await front.stop();
  rmSync(directory, { recursive: true });
});

let sent = 0;
/** Whether the hook accepts a signature by this secret. */
async function isTaken(id: string, secret: string): Promise<boolean> {
  const [webhook_id, body] = [`message-${++sent}`, "{}"];
  const timestamp = Math.floor(front.clock.now() / 1_000);
  const headers = {
    "content-type": "application/json",
    "webhook-id": webhook_id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signMessage([secret], webhook_id, timestamp, Buffer.from(body)),
  };
  const { status } = await front.post(`/v1/hooks/${id}`, body, { key: null, headers });
  expect([202, 401]).toContain(status);
  return status === 202;
}
const rotated = async (id: string, body: object = {}): Promise<Json> =>
  readJson(await front.rotate(id, body));

test("agents.endpoints.triggers.p1 agents.resources.trigger a new secret is shown once, and the previous one stays valid for a day", async () => {
  const { secret: first, ...before } = await front.create();
  await front.clock.advance(5_000);
  const { secret: second, ...after } = await rotated(before.id);
  const expires_at = new Date(front.clock.now() + DAY_S * 1_000).toISOString();
  expect(after).toEqual({
    ...{ ...before, previous_secret_expires_at: expires_at },
    updated_at: new Date(front.clock.now()).toISOString(),
  });
  expect(second).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(second).not.toBe(first);
  expect(await front.read(before.id)).toEqual(after);
  for (const secret of [first, second]) expect(await isTaken(before.id, secret)).toBe(true);
  await front.clock.advance(DAY_S * 1_000 - 1);
  expect(await isTaken(before.id, first)).toBe(true);
  await front.clock.advance(1);
  expect(await isTaken(before.id, first)).toBe(false);
  expect(await isTaken(before.id, second)).toBe(true);
  // A secret that is no longer valid has no expiry.
  expect((await front.read(before.id)).previous_secret_expires_at).toBeNull();
});

test("agents.resources.trigger the request sets how long the previous secret stays valid; an older one is invalid at once", async () => {
  const { id, secret: first } = await front.create({ secret: OWN });
  const { secret: second } = await rotated(id, { overlap_seconds: 7 * DAY_S });
  const third = await rotated(id, { overlap_seconds: 60 });
  expect(third.previous_secret_expires_at).toBe(new Date(front.clock.now() + 60_000).toISOString());
  expect(first).toBe(OWN);
  expect(await isTaken(id, OWN)).toBe(false);
  for (const secret of [second, third.secret]) expect(await isTaken(id, secret)).toBe(true);
  const fourth = await rotated(id, { overlap_seconds: 0 });
  expect(fourth.previous_secret_expires_at).toBeNull();
  expect(await isTaken(id, third.secret)).toBe(false);
  expect(await isTaken(id, fourth.secret)).toBe(true);
});

test("agents.resources.trigger two concurrent rotations lose no secret", async () => {
  const { id } = await front.create();
  const both = await Promise.all([rotated(id), rotated(id)]);
  for (const { secret } of both) expect(await isTaken(id, secret)).toBe(true);
  // Each ends in time, and the last two stay valid.
  const many = await Promise.all(Array.from({ length: 8 }, () => rotated(id)));
  const taken = await Promise.all(many.map(({ secret }) => isTaken(id, secret)));
  expect(taken.filter(Boolean)).toHaveLength(2);
});

test("agents.errors.invalid_request a schedule has no secret to rotate", async () => {
  const { id } = await front.createDaily();
  await expectRefusal(await front.rotate(id), 400, "invalid_request");
});

test("agents.errors.triggers_unavailable without its key no secret is stored, and everything else works", async () => {
  const { id } = await front.create();
  const daily = await front.createDaily();
  rmSync(join(directory, "secrets.key"));
  await front.clock.advance(1_000);
  await expectRefusal(await front.askCreate({}), 503, "triggers_unavailable");
  await expectRefusal(await front.askCreate({ secret: OWN }), 503, "triggers_unavailable");
  await expectRefusal(await front.rotate(id), 503, "triggers_unavailable");
  // An invalid or missing object is still reported.
  const wrong = await front.askCreate({ secret: "x" });
  await expectRefusal(wrong, 400, "invalid_request", "secret");
  await expectRefusal(await front.rotate(daily.id), 400, "invalid_request");
  await front.createDaily();
  await readJson(await front.patch(id, { overlap: "allow" }));
  await readJson(await front.fire(id), 202);
  expect((await readJson(await front.get(PATH))).data).toHaveLength(3);
  expect((await front.remove(id)).status).toBe(204);
});

test("agents.resources.trigger no secret is in plain text in a file or a log", async () => {
  const { id, secret } = await front.create();
  const secrets = [OWN, secret, (await rotated(id)).secret];
  const own = await front.create({ secret: OWN });
  await front.askCreate({ secret: `${OWN}=` });
  await front.askCreate({ name: own.name, secret: OWN });
  await isTaken(own.id, OWN);
  const files = readdirSync(directory).filter((name) => name.startsWith("wadi.db"));
  const texts = files.map((name) => readFileSync(join(directory, name), "latin1"));
  texts.push(JSON.stringify(front.lines), await (await front.get(PATH)).text());
  for (const one of secrets) {
    const middle = one.slice(8, -3);
    const seen = [middle, Buffer.from(middle, "base64").toString("latin1")];
    for (const form of seen) expect(texts.filter((text) => text.includes(form))).toEqual([]);
  }
  // It is deleted with its trigger.
  expect((await front.remove(id)).status).toBe(204);
  expect(await isTaken(id, secrets[2]!)).toBe(false);
});
