// Tests how `wadi listen` verifies a request, with the standard's own package.
import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { createVerifier } from "../../src/admin/webhook-receiver.ts";
import { createManualClock } from "../support/clock.ts";

const SECRET = `whsec_${Buffer.from("a secret of thirty-two bytes, ok").toString("base64")}`;
const OTHER = `whsec_${Buffer.from("another one of thirty-two bytes.").toString("base64")}`;
const BODY = '{"id":"evt-1","type":"run.completed","created_at":"…","data":{"run":{"status":"é"}}}';

function open(secrets: readonly string[] = [SECRET], status = 204) {
  const clock = createManualClock();
  const verifier = createVerifier({ secrets, status, clock });
  const send = (body: string, headers: Record<string, string> = {}, path = "/") =>
    verifier({ path, headers: new Headers(headers), body: new TextEncoder().encode(body) });
  /** Signs as a sender that follows the standard, with a timestamp that many seconds old. */
  const sign = (body: string, id = "evt-1", secret = SECRET, ago_s = 0) => {
    const at = new Date(clock.now() - ago_s * 1_000);
    return {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
      "webhook-signature": new Webhook(secret).sign(id, at, body),
    };
  };
  return { clock, send, sign };
}

test("agents.authentication.p1 agents.events.webhook.2: a signature of the standard's package is verified, and the event shown whole", () => {
  const { send, sign } = open();
  expect(send(BODY, sign(BODY), "/hook")).toEqual({
    ...{ at: "2026-11-20T12:00:00.000Z", path: "/hook", verdict: "verified", why: null },
    ...{ webhook_id: "evt-1", times: 1, type: "run.completed", answered: 204 },
    body: JSON.parse(BODY),
  });
});

test("agents.authentication.webhook_signature: any of the secrets and any of the signatures may match", () => {
  const both = open([OTHER, SECRET]);
  expect(both.send(BODY, both.sign(BODY)).verdict).toBe("verified");
  const { send, sign } = open();
  const headers = sign(BODY);
  const others = `v1a,AAAA ${sign(BODY, "evt-1", OTHER)["webhook-signature"]} v1`;
  const signature = `${others} ${headers["webhook-signature"]}`;
  expect(send(BODY, { ...headers, "webhook-signature": signature }).verdict).toBe("verified");
  expect(send(BODY, { ...headers, "webhook-signature": others }).verdict).toBe("refused");
});

describe("an unsigned or stale request is answered 401 with the reason", () => {
  const { send, sign } = open();
  const good = sign(BODY);
  const { "webhook-id": _id, ...without_id } = good;
  const { "webhook-timestamp": _timestamp, ...without_timestamp } = good;
  const { "webhook-signature": _signature, ...without_signature } = good;
  const strange = "its signature is not that of a secret given here";
  const cases: [string, Record<string, string>, string, string][] = [
    ["no id", without_id, BODY, "its webhook-id is missing"],
    ["no timestamp", without_timestamp, BODY, "its webhook-timestamp is missing"],
    [
      "no number",
      { ...good, "webhook-timestamp": "now" },
      BODY,
      "its webhook-timestamp is missing",
    ],
    ["no signature", without_signature, BODY, "it has no webhook-signature"],
    ["another secret", sign(BODY, "evt-1", OTHER), BODY, strange],
    ["another body", good, `${BODY} `, strange],
    ["another id", { ...good, "webhook-id": "evt-2" }, BODY, strange],
    ["old", sign(BODY, "evt-1", SECRET, 301), BODY, "is 301 seconds behind this machine's clock"],
    ["young", sign(BODY, "evt-1", SECRET, -301), BODY, "is 301 seconds ahead of this machine's"],
  ];
  test.each(cases)("%s", (_name, headers, body, why) => {
    const received = send(body, headers);
    expect(received).toMatchObject({ verdict: "refused", times: 0, answered: 401 });
    expect(received.why).toContain(why);
  });
});

test("agents.authentication.webhook_timestamp: timestamps up to 300 seconds off are accepted", () => {
  const { send, sign } = open();
  for (const ago_s of [300, -300]) {
    expect(send(BODY, sign(BODY, "evt-1", SECRET, ago_s)).verdict).toBe("verified");
  }
});

test("agents.events.webhook.3: a repeated id is counted, unless its request was refused", () => {
  const { send, sign } = open([SECRET], 503);
  const forged = { ...sign(BODY, "evt-2", OTHER) };
  expect(send(BODY, forged).times).toBe(0);
  const seen = ["evt-1", "evt-2", "evt-1", "evt-1"].map((id) => send(BODY, sign(BODY, id)));
  expect(seen.map(({ times, answered }) => [times, answered])).toEqual([
    [1, 503],
    [1, 503],
    [2, 503],
    [3, 503],
  ]);
});

test("the last 10,000 ids are remembered", () => {
  const { send } = open([]);
  const count = (id: string) => send("{}", { "webhook-id": id }).times;
  for (let i = 0; i < 10_000; i++) count(`evt-${i}`);
  expect(count("evt-0")).toBe(2);
  count("one more");
  expect([count("evt-0"), count("evt-1")]).toEqual([3, 1]);
});

test("without a secret nothing is verified, and every request is shown", () => {
  const { send } = open([]);
  const kinds: [string, object][] = [
    [BODY, { type: "run.completed", body: JSON.parse(BODY) }],
    ["no JSON", { type: null, body: "no JSON" }],
    ["", { type: null, body: "" }],
    ["null", { type: null, body: null }],
    ["[".repeat(100_000), { type: null, body: "[".repeat(100_000) }],
    [`${"[".repeat(100)}${"]".repeat(100)}`, { body: `${"[".repeat(100)}${"]".repeat(100)}` }],
    ['{"type":7}', { type: null, body: { type: 7 } }],
  ];
  for (const [body, made] of kinds) {
    expect(send(body, { "webhook-id": "x".repeat(129) })).toMatchObject({
      ...{ verdict: "unverified", why: null, webhook_id: null, times: 1, answered: 204 },
      ...made,
    });
  }
});
