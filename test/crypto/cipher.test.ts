// Tests that a sealed text opens only with its key and in its row.
import { expect, test } from "bun:test";
import { createHmac, hkdfSync } from "node:crypto";
import { seal, unseal } from "../../src/crypto/cipher.ts";
import { createHash, makeMasterKey, readMasterKey } from "../../src/crypto/master-key.ts";

const key = makeMasterKey();
const about = { kind: "connection", row_id: "c-1", account_id: "a-1", set_at: 7 } as const;
const SECRET = "canary-4f1c";

test.each([SECRET, "", "é 😀 \n\0", "x".repeat(100_000)])("a secret opens to itself", (text) => {
  const sealed = seal(key, about, text);
  expect(sealed).toMatchObject({ ...about, key_id: key.id });
  expect(sealed.sealed).toStartWith(`v1.${key.id}.`);
  expect(unseal(key, about, sealed.sealed)).toBe(text);
});

test("a sealed text reveals nothing of its secret, and differs at every call", () => {
  const texts = Array.from({ length: 100 }, () => seal(key, about, SECRET).sealed);
  expect(new Set(texts).size).toBe(100);
  for (const text of texts) {
    const bytes = Buffer.from(text.split(".")[2]!, "base64url");
    expect(bytes.toString("latin1") + text).not.toContain(SECRET);
    expect(bytes).toHaveLength(12 + SECRET.length + 16);
  }
});

test.each([
  ["kind", { kind: "webhook" }],
  ["row", { row_id: "c-2" }],
  ["owner", { account_id: "a-2" }],
  // The three are kept separate, not concatenated.
  ["row and owner", { row_id: "c-1a", account_id: "-1" }],
] as const)("it does not open in the place of another %s", (_, other) => {
  const { sealed } = seal(key, about, SECRET);
  expect(unseal(key, { ...about, ...other }, sealed)).toBeNull();
});

test("a sealed text does not open with another key, even under that key's name", () => {
  const other = makeMasterKey();
  const { sealed } = seal(key, about, SECRET);
  expect(unseal(other, about, sealed)).toBeNull();
  expect(unseal(other, about, sealed.replace(key.id, other.id))).toBeNull();
});

test("every change of one byte is detected", () => {
  const [version, id, text] = seal(key, about, SECRET).sealed.split(".");
  const bytes = Buffer.from(text!, "base64url");
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    const sealed = [version, id, changed.toString("base64url")].join(".");
    expect(unseal(key, about, sealed)).toBeNull();
  }
});

test.each(["", "v1", "v2.KEY.AAAA", "v1.KEY.", "v1.KEY.AAAA", "v1.KEY.%%%", "half \ud800"])(
  "%j is refused as a sealed text",
  (text) => {
    expect(unseal(key, about, text.replace("KEY", key.id))).toBeNull();
  },
);

test("a truncated sealed text does not open", () => {
  const { sealed } = seal(key, about, SECRET);
  for (let length = 0; length < sealed.length; length++) {
    expect(unseal(key, about, sealed.slice(0, length))).toBeNull();
  }
});

test("a text that an earlier version has sealed opens", () => {
  const stored = "-dKK0DbUVqOsazC6MFXgI-c6por5GE7xzdqeSbjSUHMyR5wng2Gr";
  const old = readMasterKey(Buffer.alloc(32, 7).toString("base64"));
  expect(unseal(old, about, `v1.7d69df4e06c5948a.${stored}`)).toBe(SECRET);
});

test("keys are derived by HKDF with SHA-256 without a salt, and texts are hashed by HMAC", () => {
  const bytes = Buffer.from(Array.from({ length: 32 }, (_, at) => 255 - at));
  const key = readMasterKey(bytes.toString("base64"));
  for (const purpose of ["", "name of the key", "users in the log", "é"]) {
    const expected = new Uint8Array(hkdfSync("sha256", bytes, "", `wadi ${purpose}`, 32));
    expect(key.derive(purpose)).toEqual(expected);
    const hash = createHmac("sha256", expected).update("a text").digest("hex").slice(0, 32);
    expect(createHash(key, purpose)("a text")).toBe(hash);
  }
});
