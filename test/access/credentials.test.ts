// Tests the form of a secret, its stored hash, and the validity of a key.
import { describe, expect, test } from "bun:test";
import { crc32 } from "node:zlib";
import { hashSecret, isInForce, type Key, makeSecret } from "../../src/access/credentials.ts";
import { createSystemIds } from "../../src/platform/ids.ts";
import { createSeededIds } from "../support/ids.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

describe("a secret", () => {
  test("is the alias, 43 characters of base62 and 6 of their CRC-32", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const secret = makeSecret(createSeededIds(seed), "svc_sk");
      expect(secret).toMatch(/^svc_sk_[0-9A-Za-z]{49}$/);
      let sum = 0;
      for (const one of secret.slice(-6)) sum = sum * 62 + BASE62.indexOf(one);
      expect(sum).toBe(crc32(secret.slice(0, -6)));
    }
  });

  test("gateway.p7 begins with the service's own alias", () => {
    expect(makeSecret(createSeededIds(), "acme_sk")).toMatch(/^acme_sk_[0-9A-Za-z]{49}$/);
  });

  test("differs at every call, and uses the whole alphabet", () => {
    const secrets = Array.from({ length: 200 }, () => makeSecret(createSystemIds(), "svc_sk"));
    expect(new Set(secrets).size).toBe(secrets.length);
    const used = new Set(secrets.flatMap((secret) => [...secret.slice(7, 50)]));
    expect(used.size).toBe(62);
  });

  test("is stored as its SHA-256", () => {
    const hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    expect(hashSecret("abc")).toBe(hash);
  });
});

describe("a key is valid", () => {
  const key: Key = {
    id: "01920000-0000-7000-8000-000000000000",
    account_id: null,
    name: null,
    kind: "ordinary",
    scopes: [],
    models: null,
    max_output_tokens: null,
    created_at: 0,
    expires_at: null,
    revoked_at: null,
  };

  test("without end, if it has no expiry", () => {
    expect(isInForce(key, null, Number.MAX_SAFE_INTEGER)).toBe(true);
  });

  test("until its expiry, exclusive", () => {
    const ending = { ...key, expires_at: 1_000 };
    expect([999, 1_000, 1_001].map((now) => isInForce(ending, null, now))).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("for a secret until that secret expires, which may be earlier", () => {
    const ending = { ...key, expires_at: 2_000 };
    expect([999, 1_000].map((now) => isInForce(ending, 1_000, now))).toEqual([true, false]);
    expect([1_999, 2_000].map((now) => isInForce(ending, 3_000, now))).toEqual([true, false]);
  });

  test("never again after its revocation", () => {
    expect(isInForce({ ...key, revoked_at: 5_000 }, null, 0)).toBe(false);
  });
});
