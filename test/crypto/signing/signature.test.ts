// Tests signatures with the package of the standard's authors.
import { describe, expect, spyOn, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import {
  makeSigningSecret,
  signMessage,
  validateSigningSecret,
  verifyMessage,
} from "../../../src/crypto/signing/signature.ts";

const ID = "0190d3a2-6f6f-7000-8000-000000000001";
const encode = (text: string) => new TextEncoder().encode(text);
const raw = (secret: string) => new Webhook(encode(secret), { format: "raw" });
/** Whole seconds near the present, as the package requires. */
const NOW_S = Math.floor(Date.now() / 1_000);
const headers = (signature: string, timestampS = NOW_S) => ({
  "webhook-id": ID,
  "webhook-timestamp": String(timestampS),
  "webhook-signature": signature,
});

const SECRETS: [string, () => Webhook][] = [
  [
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    () => new Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
  ],
  ["whsec_AA==", () => new Webhook("AA==")],
  ["a plain secret", () => raw("a plain secret")],
  ["geheim-ä-😀", () => raw("geheim-ä-😀")],
  // It has the prefix without valid base64: the text itself is the key.
  ["whsec_not base64!", () => raw("whsec_not base64!")],
  ["whsec_", () => raw("whsec_")],
  ["whsec_A", () => raw("whsec_A")],
];

describe.each(SECRETS)("agents.authentication.p1 with the secret %j", (secret, peer) => {
  test("the signature equals the package's, which verifies it", () => {
    for (const body of ["{}", '{"a":1}', '{"text":"é 😀\\n"}', `"${"x".repeat(100_000)}"`]) {
      const signature = signMessage([secret], ID, NOW_S, encode(body));
      expect(signature).toBe(peer().sign(ID, new Date(NOW_S * 1_000), body));
      expect(signature).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
      expect(peer().verify(body, headers(signature))).toEqual(JSON.parse(body));
    }
  });

  test("another id, time or body changes the signature", () => {
    const signature = signMessage([secret], ID, NOW_S, encode("{}"));
    expect(() => peer().verify("{ }", headers(signature))).toThrow("No matching signature");
    expect(() => peer().verify("{}", headers(signature, NOW_S - 1))).toThrow("No matching");
    const other = { ...headers(signature), "webhook-id": "another" };
    expect(() => peer().verify("{}", other)).toThrow("No matching signature");
  });
});

test("the bytes of a new secret are forgotten", () => {
  using drawn = spyOn(crypto, "getRandomValues");
  makeSigningSecret();
  expect(drawn.mock.results).toMatchObject([{ value: new Uint8Array(32) }]);
});

test("a new secret is 32 bytes in base64", () => {
  const secrets = [makeSigningSecret(), makeSigningSecret()];
  for (const secret of secrets) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(secrets[0]).not.toBe(secrets[1]);
});

test("agents.authentication.webhook_signature during a rotation both secrets have a signature", () => {
  const [one, two] = ["whsec_AAAA", "the other"];
  const signature = signMessage([two, one], ID, NOW_S, encode("{}"));
  const each = [two, one].map((secret) => signMessage([secret], ID, NOW_S, encode("{}")));
  expect(signature).toBe(each.join(" "));
  for (const peer of [new Webhook(one), raw(two)]) peer.verify("{}", headers(signature));
  expect(() => raw("a third").verify("{}", headers(signature))).toThrow("No matching signature");
});

test("bytes that are not text are signed unchanged", () => {
  const bytes = Uint8Array.from([0, 255, 254, 128]);
  const text = new TextDecoder().decode(bytes);
  expect(signMessage(["k"], ID, 1, bytes)).not.toBe(signMessage(["k"], ID, 1, encode(text)));
  expect(signMessage(["k"], ID, 1, bytes)).toBe(
    signMessage(["k"], ID, 1, Buffer.from(bytes).subarray()),
  );
});

test("the standard's example has the standard's signature", () => {
  const body = encode('{"test": 2432232314}');
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  expect(signMessage([secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body)).toBe(
    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  );
});

test("a secret from outside is 24 to 64 bytes in canonical base64", () => {
  const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString("base64")}`;
  for (const bytes of [24, 32, 64]) expect(validateSigningSecret(secretOf(bytes))).toBeNull();
  const whole = secretOf(32);
  // The last character holds two bits that no byte has.
  const loose = whole.replace(/.=$/, (end) => `${String.fromCharCode(end.charCodeAt(0) + 1)}=`);
  expect(Buffer.from(loose.slice(6), "base64")).toEqual(Buffer.from(whole.slice(6), "base64"));
  const others = [secretOf(23), secretOf(65), loose, whole.slice(0, -1), whole.slice(6)];
  for (const secret of others) {
    expect(validateSigningSecret(secret)).toBe("must be `whsec_` and 24 to 64 bytes in base64");
  }
});

test("each of three secrets verifies what it has signed, and a fourth does not", () => {
  const secrets = ["one", "two", "three"];
  const verify = (by: string) => {
    const head = { id: ID, timestamp: "7", signature: signMessage([by], ID, 7, encode("x")) };
    return verifyMessage(secrets, head, encode("x"));
  };
  expect([...secrets, "four"].map(verify)).toEqual([true, true, true, false]);
});
