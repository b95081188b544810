// Tests the verification of messages signed by the packages of the standard's authors,
// and the refusal of others.
import { describe, expect, spyOn, test } from "bun:test";
import * as crypto from "node:crypto";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import {
  makeSigningSecret,
  signMessage,
  verifyMessage,
} from "../../../src/crypto/signing/signature.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const [CURRENT, PREVIOUS, OTHER] = [0, 0, 0].map(() => makeSigningSecret()) as [
  ...[string, string, string],
];
const ID = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";
/** Whole seconds near the present, as the packages require. */
const NOW_S = Math.floor(Date.now() / 1_000);
const BODIES = ["{}", '{"a":1}', '{"text":"é 😀\\n"}', "null", `"${"x".repeat(60_000)}"`, ""];

interface Peer {
  name: string;
  sign(secret: string, id: string, at_s: number, body: string): string;
  verify(secret: string, body: string, headers: Record<string, string>): void;
}
const PEERS: Peer[] = [Standard, Svix].map((Webhook) => ({
  name: Webhook === (Svix as unknown) ? "svix" : "standardwebhooks",
  sign: (secret, id, at_s, body) => new Webhook(secret).sign(id, new Date(at_s * 1_000), body),
  verify: (secret, body, headers) => void new Webhook(secret).verify(body, headers),
}));

const head = (signature: string, id = ID, timestamp = String(NOW_S)) => ({
  ...{ id, timestamp, signature },
});
const sign = (secrets: string[], body: string) => signMessage(secrets, ID, NOW_S, encode(body));

describe.each(PEERS)("agents.authentication.7 with the package $name", (peer) => {
  test("agents.authentication.p1 its signatures verify here, with either secret", () => {
    for (const body of BODIES) {
      for (const secret of [CURRENT, PREVIOUS]) {
        const signed = head(peer.sign(secret, ID, NOW_S, body));
        expect(verifyMessage([CURRENT, PREVIOUS], signed, encode(body))).toBe(true);
        expect(verifyMessage([secret], signed, encode(body))).toBe(true);
        expect(verifyMessage([OTHER], signed, encode(body))).toBe(false);
        expect(verifyMessage([], signed, encode(body))).toBe(false);
      }
    }
  });

  test("agents.authentication.webhook_signature our signatures verify there, with either secret", () => {
    for (const body of BODIES.filter((one) => one !== "")) {
      const headers = {
        "webhook-id": ID,
        "webhook-timestamp": String(NOW_S),
        "webhook-signature": sign([CURRENT, PREVIOUS], body),
      };
      for (const secret of [CURRENT, PREVIOUS]) peer.verify(secret, body, headers);
      expect(() => peer.verify(OTHER, body, headers)).toThrow("No matching signature");
    }
  });
});

/** Vectors of the standard's own tests, and of svix's page on manual verification. */
const VECTORS = [
  {
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    head: head(
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      ...(["msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330"] as const),
    ),
    body: '{"test": 2432232314}',
  },
  {
    secret: "whsec_plJ3nmyCDGBKInavdOK15jsl",
    head: head(
      "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=",
      ...(["msg_loFOjxBNrRLzqYUf", "1731705121"] as const),
    ),
    body: '{"event_type":"ping","data":{"success":true}}',
  },
];

describe.each(VECTORS)("agents.authentication.p1 the published vector of $secret", (vector) => {
  const { secret, head, body } = vector;

  test("verifies", () => {
    expect(verifyMessage([secret], head, encode(body))).toBe(true);
    expect(verifyMessage([OTHER, secret], head, encode(body))).toBe(true);
  });

  test("does not verify after a change of any character", () => {
    const change = (text: string, at: number) =>
      text.slice(0, at) + (text[at] === "0" ? "1" : "0") + text.slice(at + 1);
    for (const field of ["id", "timestamp", "signature"] as const) {
      for (let at = 0; at < head[field].length; at++) {
        const changed = { ...head, [field]: change(head[field], at) };
        expect([changed, verifyMessage([secret], changed, encode(body))]).toEqual([changed, false]);
      }
    }
    for (let at = 0; at < body.length; at++) {
      expect(verifyMessage([secret], head, encode(change(body, at)))).toBe(false);
    }
  });
});

describe("agents.authentication.webhook_signature several signatures", () => {
  const good = sign([CURRENT], "{}");
  const bad = sign([OTHER], "{}");
  const takes = (signature: string) => verifyMessage([CURRENT], head(signature), encode("{}"));

  test("separated by spaces: one valid signature is enough, in any position", () => {
    expect(takes(`${bad} ${good}`)).toBe(true);
    expect(takes(`${good} ${bad}`)).toBe(true);
    expect(takes(`${bad}  ${good} `)).toBe(true);
    expect(takes(`${Array(300).fill(bad).join(" ")} ${good}`)).toBe(true);
    expect(takes(`${bad} ${bad}`)).toBe(false);
  });

  test("unknown versions are skipped", () => {
    const [, text] = good.split(",");
    expect(takes(`v1a,${text} v2,${text} ${good}`)).toBe(true);
    for (const other of [
      `v2,${text}`,
      `v1a,${text}`,
      `V1,${text}`,
      text!,
      `,${text}`,
      `1,${text}`,
    ]) {
      expect([other, takes(other)]).toEqual([other, false]);
    }
  });

  test("other encodings of the same bytes are refused", () => {
    for (const other of [
      ...["", " ", "v1", "v1,", "v1,=", good.slice(0, -1), `${good}=`, good.replace("v1,", "v1, ")],
      ...[good.replace("v1,", "v1,,"), `${good},${good}`, `${good};${good}`, `${good}\t${good}`],
      Buffer.from(good.slice(3), "base64").toString("hex"),
    ]) {
      expect([other, takes(other)]).toEqual([other, false]);
    }
  });

  test("a header that was sent twice is refused", () => {
    for (const other of [`${good}, ${good}`, `${bad}, ${good}`, `${good}, `, `, ${good}`]) {
      expect([other, takes(other)]).toEqual([other, false]);
    }
    for (const other of [`${good},`, `${good}, x ${good}`, `x,\t${good} ${good}`]) {
      expect([other, takes(other)]).toEqual([other, false]);
    }
  });
});

test("agents.authentication.p2 bytes that are not text are verified unchanged", () => {
  const bytes = Uint8Array.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d, 0xff, 0x00]);
  const signed = head(signMessage([CURRENT], ID, NOW_S, bytes));
  expect(verifyMessage([CURRENT], signed, bytes)).toBe(true);
  const text = new TextDecoder().decode(bytes);
  expect(verifyMessage([CURRENT], signed, encode(text))).toBe(false);
  expect(verifyMessage([CURRENT], signed, bytes.subarray(3))).toBe(false);
});

test("agents.authentication.p2 any outcome and number of secrets takes as many comparisons in constant time", () => {
  const body = encode("{}");
  const [right, wrong] = [sign([CURRENT], "{}"), sign([OTHER], "{}")];
  using hashed = spyOn(crypto, "createHmac");
  using compared = spyOn(crypto, "timingSafeEqual");
  for (const secrets of [[], [CURRENT], [CURRENT, PREVIOUS]]) {
    for (const signature of [right, wrong, `${right} ${wrong}`]) {
      verifyMessage(secrets, head(signature), body);
      expect(hashed).toHaveBeenCalledTimes(2);
      expect(compared).toHaveBeenCalledTimes(2 * signature.split(" ").length);
      hashed.mockClear();
      compared.mockClear();
    }
  }
  // A secret that stands for a missing one verifies nothing.
  compared.mockImplementation(() => true);
  expect(verifyMessage([], head(wrong), body)).toBe(false);
  expect(verifyMessage([CURRENT], head(wrong), body)).toBe(true);
});
