// Tests the signing secret and its predecessor: their overlap, and missing secrets.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { SecretStore } from "../../../src/crypto/secret-store.ts";
import { createSecretPairs, readOverlap } from "../../../src/crypto/signing/secret-pair.ts";
import { makeSigningSecret } from "../../../src/crypto/signing/signature.ts";
import { createManualClock } from "../../support/clock.ts";
import { openTestDatabase, type TestDatabase } from "../../support/database.ts";
import { keeperStore } from "../../support/secret-keeper.ts";
import { openTestSecrets } from "../../support/secrets.ts";

const place = { kind: "trigger", row_id: "t-1", account_id: "a-1" } as const;
const about = { ...place, set_at: 1_000 };
const [FIRST, SECOND, THIRD] = [1, 2, 3].map(() => makeSigningSecret()) as [string, string, string];

let database: TestDatabase;
let box: SecretStore;
beforeEach(async () => {
  database = await openTestDatabase({ kind: "memory" });
  box = openTestSecrets(database, createManualClock());
});
afterEach(() => database.close());

const put = (sealed: Parameters<Parameters<SecretStore["store"]>[2]>[0]) =>
  database.bind(keeperStore).put(sealed);
const open = () => createSecretPairs(box);

describe.each(["open", "openAlike"] as const)("a pair by %s", (how) => {
  const secretsAt = (now: number) => open()[how](place, now);

  test("has only its first secret", async () => {
    await open().store(about, FIRST, put);
    expect(await secretsAt(1_000)).toEqual({ ok: true, secrets: [FIRST] });
  });

  test("has both for exactly the overlap, the newer first", async () => {
    await open().store(about, FIRST, put);
    const request = { secret: SECOND, overlap_ms: 500 };
    await open().rotate(about, request, async (sealed, expires_at) => {
      expect(expires_at).toBe(1_500);
      await put(sealed);
    });
    expect(await secretsAt(1_499)).toEqual({ ok: true, secrets: [SECOND, FIRST] });
    expect(await secretsAt(1_500)).toEqual({ ok: true, secrets: [SECOND] });
  });

  test("never has more than two", async () => {
    await open().store(about, FIRST, put);
    for (const secret of [SECOND, THIRD]) {
      await open().rotate(about, { secret, overlap_ms: 500 }, put);
    }
    expect(await secretsAt(1_001)).toEqual({ ok: true, secrets: [THIRD, SECOND] });
  });

  test("has only the new one without an overlap", async () => {
    await open().store(about, FIRST, put);
    await open().rotate(about, { secret: SECOND, overlap_ms: 0 }, async (sealed, expires_at) => {
      expect(expires_at).toBeNull();
      await put(sealed);
    });
    expect(await secretsAt(1_000)).toEqual({ ok: true, secrets: [SECOND] });
  });

  test("is missing where nothing was stored, and in other rows", async () => {
    expect(await secretsAt(1_000)).toEqual({ ok: false, reason: "missing" });
    await open().store(about, FIRST, put);
    const others = { ...place, account_id: "a-2" };
    expect(await open()[how](others, 1_000)).toEqual({ ok: false, reason: "missing" });
  });

  test("is unreadable once damaged", async () => {
    await open().store(about, FIRST, put);
    await database.bind(keeperStore).damage("t-1", "v1.x.y");
    expect(await secretsAt(1_000)).toEqual({ ok: false, reason: "unreadable" });
  });
});

test("a secret that cannot be opened has no overlap with the next one", async () => {
  await open().store(about, FIRST, put);
  await database.bind(keeperStore).damage("t-1", "v1.x.y");
  await open().rotate(about, { secret: SECOND, overlap_ms: 500 }, async (sealed, expires_at) => {
    expect(expires_at).toBeNull();
    await put(sealed);
  });
  expect(await open().open(place, 1_000)).toEqual({ ok: true, secrets: [SECOND] });
});

test("an overlap is a day where none is given", () => {
  const given = [{}, { overlap_seconds: null }, { overlap_seconds: 0 }, { overlap_seconds: 7 }];
  expect(given.map(readOverlap)).toEqual([86_400_000, 86_400_000, 0, 7_000]);
});
