// Tests how the operator creates, lists, rotates and revokes keys.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { AdminError } from "../../src/admin/index.ts";
import type { KeyRequest } from "../../src/admin/keys.ts";
import { type AdminFixture, keyRequest, openFixture } from "./fixture.ts";

const DAY_MS = 86_400_000;

let fixture: AdminFixture;
beforeEach(async () => {
  fixture = await openFixture(["stub-1", "qwen3-32b"]);
  await fixture.admin.accounts.create("acme");
});
afterEach(() => fixture.close());

const identify = (secret: string) => fixture.access.identify(`Bearer ${secret}`);

test("gateway.authentication.9 a key has only the requested rights", async () => {
  const { keys } = fixture.admin;
  const plain = await keys.create(keyRequest());
  expect(await identify(plain.secret)).toMatchObject({
    kind: "ordinary",
    scopes: [],
    models: null,
    max_output_tokens: null,
  });
  const rich = await keys.create(
    keyRequest({
      name: "team one",
      scopes: ["think", "search", "think"],
      models: ["stub-1", "stub-1"],
      max_output_tokens: 100,
      lifetimeMs: DAY_MS,
    }),
  );
  expect(rich.key).toMatchObject({
    name: "team one",
    scopes: ["think", "search"],
    models: ["stub-1"],
    max_output_tokens: 100,
    expires_at: fixture.clock.now() + DAY_MS,
  });
});

test("a key expires at its expiry", async () => {
  const { secret } = await fixture.admin.keys.create(keyRequest({ lifetimeMs: DAY_MS }));
  fixture.clock.shiftWall(DAY_MS - 1);
  expect(await identify(secret)).toBeDefined();
  fixture.clock.shiftWall(1);
  await expect(identify(secret)).rejects.toMatchObject({ code: "invalid_api_key" });
});

test("a key lasts from a millisecond to a hundred years", async () => {
  const { keys } = fixture.admin;
  for (const lifetimeMs of [1, 36_500 * DAY_MS]) {
    const { key } = await keys.create(keyRequest({ lifetimeMs }));
    expect(key.expires_at).toBe(fixture.clock.now() + lifetimeMs);
  }
  const problem = keys.create(keyRequest({ lifetimeMs: 36_500 * DAY_MS + 1 }));
  await expect(problem).rejects.toThrow("36500 days");
});

test("a key may have no owner, or be platform-internal", async () => {
  const { keys } = fixture.admin;
  const ownerless = await keys.create(keyRequest({ account: null }));
  const internal = await keys.create(keyRequest({ is_internal: true }));
  expect(await identify(ownerless.secret)).toMatchObject({ account_id: null });
  expect(await identify(internal.secret)).toMatchObject({ kind: "internal" });
});

test("keys are listed with their owner's name and without a secret", async () => {
  const { accounts, keys } = fixture.admin;
  await accounts.create("beta");
  const secrets = [];
  for (const account of ["acme", "beta", null]) {
    secrets.push((await keys.create(keyRequest({ account }))).secret);
  }
  const all = await keys.list(null);
  expect(all.map(({ account }) => account)).toEqual([null, "beta", "acme"]);
  for (const secret of secrets) expect(JSON.stringify(all)).not.toContain(secret);
  expect((await keys.list("beta")).map(({ account }) => account)).toEqual(["beta"]);
  await expect(keys.list("betta")).rejects.toThrow(
    'there is no account "betta"; did you mean "beta"?',
  );
});

test("a key is shown by the end of its newest secret, with its use and its work", async () => {
  const { keys } = fixture.admin;
  const { key, secret } = await keys.create(keyRequest());
  const unused = { ends_in: secret.slice(-4), last_used_at: null };
  expect(await keys.list(null)).toMatchObject([unused]);
  expect(await keys.show(key.id)).toMatchObject({
    ...unused,
    ...{ account: "acme", active_runs: 0, open_streams: null },
  });
  const rotated = await keys.rotate(key.id, DAY_MS);
  expect(await keys.show(key.id)).toMatchObject({ ends_in: rotated.secret.slice(-4) });
});

test("gateway.authentication.2 a revoked key is refused, in whatever case its id was typed", async () => {
  const { keys } = fixture.admin;
  const { key, secret } = await keys.create(keyRequest());
  const revoked = await keys.revoke(key.id.toUpperCase());
  expect(revoked).toEqual({ ...key, revoked_at: fixture.clock.now() });
  await expect(identify(secret)).rejects.toMatchObject({ code: "invalid_api_key" });
  // A repetition keeps the first time of revocation.
  fixture.clock.shiftWall(1_000);
  expect(await keys.revoke(key.id)).toEqual(revoked);
});

test("an unknown key cannot be revoked, and a typed secret is not quoted", async () => {
  const { keys } = fixture.admin;
  const unknown = "00000000-0000-4000-8000-000000000000";
  await expect(keys.revoke(unknown)).rejects.toThrow(`there is no key "${unknown}"`);
  const { secret } = await keys.create(keyRequest());
  const problem = await keys.revoke(secret).then(
    () => expect.unreachable(),
    (failure) => failure,
  );
  expect(problem).toBeInstanceOf(AdminError);
  expect(problem.message).not.toContain(secret);
});

describe("a rotated key", () => {
  const refused = { code: "invalid_api_key" };

  test("keeps its id and rights, and has two secrets until the overlap ends", async () => {
    const { keys } = fixture.admin;
    const first = await keys.create(
      keyRequest({ scopes: ["think"], models: ["stub-1"], max_output_tokens: 9 }),
    );
    const before = await identify(first.secret);
    const rotated = await keys.rotate(first.key.id.toUpperCase(), DAY_MS);
    expect(rotated.secret).toMatch(/^svc_sk_[0-9A-Za-z]{49}$/);
    expect(rotated).toMatchObject({ key: first.key, previousUntil: fixture.clock.now() + DAY_MS });
    fixture.clock.shiftWall(DAY_MS - 1);
    for (const secret of [first.secret, rotated.secret]) {
      expect(await identify(secret)).toEqual(before);
    }
    fixture.clock.shiftWall(1);
    await expect(identify(first.secret)).rejects.toMatchObject(refused);
    expect(await identify(rotated.secret)).toEqual(before);
    expect(await keys.list(null)).toHaveLength(1);
  });

  test("has at most two secrets: an older one ends at once", async () => {
    const { keys } = fixture.admin;
    const { key, secret: first } = await keys.create(keyRequest());
    const { secret: second } = await keys.rotate(key.id, DAY_MS);
    const { secret: third } = await keys.rotate(key.id, 2 * DAY_MS);
    await expect(identify(first)).rejects.toMatchObject(refused);
    for (const secret of [second, third]) expect(await identify(secret)).toBeDefined();
  });

  test("has only the new secret without an overlap", async () => {
    const { keys } = fixture.admin;
    const first = await keys.create(keyRequest());
    const { secret, previousUntil } = await keys.rotate(first.key.id, 0);
    expect(previousUntil).toBeNull();
    await expect(identify(first.secret)).rejects.toMatchObject(refused);
    expect(await identify(secret)).toBeDefined();
  });

  test("keeps its expiry for both secrets", async () => {
    const { keys } = fixture.admin;
    const first = await keys.create(keyRequest({ lifetimeMs: 1_000 }));
    const { secret, previousUntil } = await keys.rotate(first.key.id, DAY_MS);
    expect(previousUntil).toBe(first.key.expires_at!);
    fixture.clock.shiftWall(1_000);
    for (const one of [first.secret, secret]) {
      await expect(identify(one)).rejects.toMatchObject(refused);
    }
  });

  test("is revoked with both secrets", async () => {
    const { keys } = fixture.admin;
    const first = await keys.create(keyRequest());
    const { secret } = await keys.rotate(first.key.id, DAY_MS);
    await keys.revoke(first.key.id);
    for (const one of [first.secret, secret]) {
      await expect(identify(one)).rejects.toMatchObject(refused);
    }
  });

  test("has to exist and be valid; a typed secret is not quoted", async () => {
    const { keys } = fixture.admin;
    const revoked = await keys.create(keyRequest());
    await keys.revoke(revoked.key.id);
    const expired = await keys.create(keyRequest({ lifetimeMs: 1 }));
    fixture.clock.shiftWall(1);
    for (const { key } of [revoked, expired]) {
      await expect(keys.rotate(key.id, DAY_MS)).rejects.toThrow("is revoked or expired");
    }
    const unknown = "00000000-0000-4000-8000-000000000000";
    await expect(keys.rotate(unknown, DAY_MS)).rejects.toThrow(`there is no key "${unknown}"`);
    await expect(keys.rotate(unknown, 36_500 * DAY_MS + 1)).rejects.toThrow("36500 days");
    await expect(keys.rotate(unknown, 36_500 * DAY_MS)).rejects.toThrow("there is no key");
    const { secret } = await keys.create(keyRequest());
    const problem = await keys.rotate(secret, DAY_MS).catch((failure) => failure);
    expect(problem).toBeInstanceOf(AdminError);
    expect(problem.message).not.toContain(secret);
  });
});

describe("an invalid request creates no key", () => {
  const invalidRequests: [title: string, fields: Partial<KeyRequest>, says: string][] = [
    ["a mistyped account", { account: "acmee" }, 'no account "acmee"; did you mean "acme"?'],
    ["an unknown account", { account: "zzz" }, "`wadi accounts create zzz` makes it"],
    ["a bad account", { account: "a b c" }, "`wadi accounts list`"],
    ["a mistyped scope", { scopes: ["thinks"] }, 'did you mean "think"?'],
    ["an unknown scope", { scopes: ["everything"] }, "a scope is one of reasoning, think"],
    ["a mistyped model", { models: ["stub1"] }, 'did you mean "stub-1"?'],
    ["an unknown model", { models: ["gpt"] }, "the settings name stub-1, qwen3-32b"],
    ["a cap of zero", { max_output_tokens: 0 }, "a whole number of at least 1"],
    ["a cap beyond numbers", { max_output_tokens: 2 ** 53 }, "a whole number of at least 1"],
    ["no time at all", { lifetimeMs: 0 }, "from now"],
    ["more than a hundred years", { lifetimeMs: 36_501 * DAY_MS }, "36500 days"],
    ["a name of two lines", { name: "a\nb" }, "one line"],
    ["a name that moves the cursor", { name: "a\u001b[2J" }, "one line"],
    ["a name that is too long", { name: "x".repeat(129) }, "1 to 128"],
  ];
  for (const [title, fields, says] of invalidRequests) {
    test(title, async () => {
      const { keys } = fixture.admin;
      const problem = await keys.create(keyRequest(fields)).then(
        () => expect.unreachable(),
        (failure) => failure,
      );
      expect(problem).toBeInstanceOf(AdminError);
      expect(problem.message).toContain(says);
      expect(await keys.list(null)).toEqual([]);
    });
  }
});

describe("a change", () => {
  const NOTHING = { scopes: [], models: null, max_output_tokens: null };

  test("holds at the key's next request, and keeps what it does not name", async () => {
    const { keys } = fixture.admin;
    const asked = { scopes: ["think"], models: ["stub-1"], max_output_tokens: 9, name: "laptop" };
    const { key, secret } = await keys.create(keyRequest(asked));
    const changed = await keys.update(key.id, { scopes: ["search", "search"] });
    expect(changed).toEqual({ ...key, scopes: ["search"] });
    expect(await identify(secret)).toMatchObject({ scopes: ["search"], models: ["stub-1"] });
    const bare = { name: null, ...NOTHING };
    expect(await keys.update(key.id, bare)).toEqual({ ...key, ...bare });
    expect(await identify(secret)).toMatchObject(NOTHING);
  });

  test("of the lifetime counts from now, and an unlimited one is possible again", async () => {
    const { keys } = fixture.admin;
    const { key } = await keys.create(keyRequest());
    const until = fixture.clock.now() + DAY_MS;
    expect((await keys.update(key.id, { lifetimeMs: DAY_MS })).expires_at).toBe(until);
    expect((await keys.update(key.id, { lifetimeMs: null })).expires_at).toBeNull();
  });

  test("of a key that is over is refused, so that none comes back", async () => {
    const { keys } = fixture.admin;
    const expired = await keys.create(keyRequest({ lifetimeMs: 1 }));
    fixture.clock.shiftWall(1);
    const revoked = await keys.create(keyRequest());
    await keys.revoke(revoked.key.id);
    for (const { key, secret } of [expired, revoked]) {
      await expect(keys.update(key.id, { lifetimeMs: null })).rejects.toThrow("and stays so");
      await expect(identify(secret)).rejects.toMatchObject({ code: "invalid_api_key" });
    }
  });

  test("is validated like a new key", async () => {
    const { keys } = fixture.admin;
    const { key } = await keys.create(keyRequest());
    for (const [change, says] of [
      [{ scopes: ["thinks"] }, 'did you mean "think"?'],
      [{ models: ["stub1"] }, 'did you mean "stub-1"?'],
      [{ name: "two\nlines" }, "one line"],
      [{ max_output_tokens: 0 }, "at least 1"],
      [{ lifetimeMs: 0 }, "from now"],
    ] as const) {
      await expect(keys.update(key.id, change)).rejects.toThrow(says);
    }
    expect(await keys.find(key.id)).toMatchObject(key);
  });
});

test("a key is shown with its owner and its last use", async () => {
  const { keys } = fixture.admin;
  const { key } = await keys.create(keyRequest());
  const shown = { ...key, account: "acme", last_used_at: null };
  expect(await keys.show(key.id)).toMatchObject(shown);
  const last_used_at = fixture.clock.now();
  await fixture.access.keys.noteUses([{ key_id: key.id, last_used_at }]);
  expect(await keys.show(key.id)).toMatchObject({ last_used_at });
});
