// Tests the verification of a sender: every failure does the same work and has the same error.
import { expect, test } from "bun:test";
import type { OpenedPair } from "../../../src/crypto/signing/secret-pair.ts";
import { makeSigningSecret, signMessage } from "../../../src/crypto/signing/signature.ts";
import { apiError } from "../../../src/platform/errors.ts";
import { createHookVerifier, type SignedHook } from "../../../src/triggers/hook.ts";
import { createManualClock } from "../../support/clock.ts";
import { failureOf } from "../../support/database.ts";

const HOOK = "01920000-0000-7000-8000-0000000000aa";
const NOBODY = "00000000-0000-0000-0000-000000000000";
const SECRET = makeSigningSecret();
const body = Buffer.from("{}");

function openTrial(opened: OpenedPair = { ok: true, secrets: [SECRET] }) {
  const clock = createManualClock();
  const calls: unknown[] = [];
  const verify = createHookVerifier({
    clock,
    triggers: {
      async findSigner(id) {
        calls.push(["findSigner", id]);
        return id === HOOK ? "a-1" : null;
      },
    },
    pairs: {
      async openAlike({ kind, row_id, account_id }, now) {
        calls.push(["openAlike", kind, row_id, account_id, now]);
        return row_id === HOOK ? opened : { ok: false, reason: "missing" };
      },
    },
    secrets: {
      async require(kind) {
        calls.push(["require", kind]);
        throw apiError("triggers_unavailable");
      },
    },
  });
  const now_s = Math.floor(clock.now() / 1_000);
  const send = (more: Partial<SignedHook> & { id?: string; secret?: string } = {}) => {
    const { id = "one", secret = SECRET, ...sent } = more;
    const headers = new Headers({
      ...{ "webhook-id": id, "webhook-timestamp": String(now_s) },
      "webhook-signature": signMessage([secret], id, now_s, body),
    });
    return verify({ trigger_id: HOOK, headers, body, ...sent });
  };
  return { send, calls, now: clock.now() };
}

test("a valid signature gives the trigger and the sender's id of the request", async () => {
  const { send } = openTrial();
  const verified = { trigger_id: HOOK, webhook_id: "one" };
  expect(await send()).toEqual(verified);
  expect(await send({ trigger_id: HOOK.toUpperCase() })).toEqual(verified);
});

test("agents.authentication.p3 every failure does the same lookup and the same decryption", async () => {
  const other = "01920000-0000-7000-8000-0000000000bb";
  const wrong: [Parameters<ReturnType<typeof openTrial>["send"]>[0], string, string][] = [
    [{ secret: makeSigningSecret() }, HOOK, "a-1"],
    [{ headers: new Headers() }, HOOK, "a-1"],
    [{ id: "x".repeat(129) }, HOOK, "a-1"],
    [{ trigger_id: other }, other, NOBODY],
    [{ trigger_id: "mine" }, NOBODY, NOBODY],
    [{ trigger_id: "" }, NOBODY, NOBODY],
  ];
  for (const [sent, id, account_id] of wrong) {
    const { send, calls, now } = openTrial();
    expect(await failureOf(send(sent))).toMatchObject({ code: "invalid_signature", details: {} });
    expect(calls).toEqual([
      ["findSigner", id],
      ["openAlike", "trigger", id, account_id, now],
    ]);
  }
});

test("a damaged secret verifies no signature", async () => {
  for (const reason of ["unreadable", "missing"] as const) {
    const { send } = openTrial({ ok: false, reason });
    expect(await failureOf(send())).toMatchObject({ code: "invalid_signature" });
  }
});

test("agents.errors.triggers_unavailable a key that becomes unavailable is reported as to all callers", async () => {
  const { send, calls } = openTrial({ ok: false, reason: "unavailable" });
  expect(await failureOf(send())).toMatchObject({ code: "triggers_unavailable" });
  expect(calls.at(-1)).toEqual(["require", "trigger"]);
});
