// What is sealed opens with its key, in its place, and not otherwise.
import { expect, test } from "bun:test";
import { seal, unseal } from "../../src/crypto/cipher.ts";
import { makeMasterKey } from "../../src/crypto/master-key.ts";

const key = makeMasterKey();
const about = { kind: "connection", row_id: "c-1", account_id: "a-1", set_at: 7 } as const;
const SECRET = "canary-4f1c";

test.each([SECRET, "", "é 😀 \n\0", "x".repeat(100_000)])(
  "a secret comes back as it was",
  (text) => {
    const sealed = seal(key, about, text);
    expect(sealed).toMatchObject({ ...about, key_id: key.id });
    expect(sealed.sealed).toStartWith(`v1.${key.id}.`);
    expect(unseal(key, about, sealed.sealed)).toBe(text);
  },
);

test("a sealed text shows nothing of its secret, and is another each time", () => {
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
  // The three are told apart, not strung together.
  ["row and owner", { row_id: "c-1a", account_id: "-1" }],
] as const)("it does not open in the place of another %s", (_, other) => {
  const { sealed } = seal(key, about, SECRET);
  expect(unseal(key, { ...about, ...other }, sealed)).toBeNull();
});

test("it does not open with another key, also where it claims to be of that one", () => {
  const other = makeMasterKey();
  const { sealed } = seal(key, about, SECRET);
  expect(unseal(other, about, sealed)).toBeNull();
  expect(unseal(other, about, sealed.replace(key.id, other.id))).toBeNull();
});

test("no change of one byte goes unnoticed", () => {
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
  "%j is no sealed text, and no crash",
  (text) => {
    expect(unseal(key, about, text.replace("KEY", key.id))).toBeNull();
  },
);

test("a sealed text that was cut does not open", () => {
  const { sealed } = seal(key, about, SECRET);
  for (let length = 0; length < sealed.length; length++) {
    expect(unseal(key, about, sealed.slice(0, length))).toBeNull();
  }
});
