// Tests the path from an Authorization header to its caller.
import { expect, test } from "bun:test";
import { createFindCaller, createIdentify, createIdentifyKey } from "../../src/access/caller.ts";
import { hashSecret } from "../../src/access/credentials.ts";
import { findModelState, pickModelStates } from "../../src/access/model-states.ts";
import type { FoundKey } from "../../src/access/store.ts";
import type { ApiError } from "../../src/platform/errors.ts";
import { createManualClock } from "../support/clock.ts";

const key: FoundKey = {
  id: "01920000-0000-7000-8000-000000000000",
  account_id: "01920000-0000-7000-8000-000000000001",
  name: null,
  kind: "ordinary",
  scopes: ["think"],
  models: ["m"],
  max_output_tokens: 7,
  created_at: 0,
  expires_at: null,
  revoked_at: null,
  limits: null,
  account_limits: null,
  secret_expires_at: null,
  off_models: null,
  blocked_models: null,
  granted_models: "m",
};

/** Identifies against a store with one key, and collects the hashes looked up. */
function createTrial(found: FoundKey = key, secret = "secret") {
  const clock = createManualClock();
  const lookups: string[] = [];
  const find = async (hash: string) => {
    lookups.push(hash);
    return hash === hashSecret(secret) ? found : undefined;
  };
  const identify = createIdentify({ find }, clock);
  const refusalOf = async (header: string | null) => {
    const failure = await identify(header).then(
      () => undefined,
      (one: ApiError) => one,
    );
    return failure?.code;
  };
  return { clock, lookups, identify, refusalOf };
}

test("gateway.authentication.1 a bearer key identifies its caller", async () => {
  const { clock, identify } = createTrial();
  expect(await identify("Bearer secret")).toEqual({
    key_id: key.id,
    account_id: key.account_id,
    kind: "ordinary",
    scopes: ["think"],
    models: ["m"],
    max_output_tokens: 7,
    model_states: {
      off_models: null,
      blocked_models: null,
      granted_models: "m",
      read_at: clock.monotonic(),
    },
  });
});

test("the limits of a caller are those of its account and its key; without any it has none", async () => {
  const limitsOf = async (fields: Partial<FoundKey>) =>
    (await createTrial({ ...key, ...fields }).identify("Bearer secret")).limits;
  const [account, own] = [{ tokens_day: 1 }, { requests_day: 2 }];
  expect(await limitsOf({ account_limits: account })).toEqual({ account, key: null });
  expect(await limitsOf({ limits: own })).toEqual({ account: null, key: own });
  expect(await limitsOf({ limits: own, account_limits: account })).toEqual({ account, key: own });
  expect(await limitsOf({})).toBeUndefined();
});

test("the scheme is case-insensitive, with any number of spaces after it", async () => {
  const { refusalOf } = createTrial();
  for (const header of ["bearer secret", "BEARER secret", "Bearer    secret"]) {
    expect([header, await refusalOf(header)]).toEqual([header, undefined]);
  }
});

test("gateway.authentication.2 a request without a key is missing_api_key, and nothing is looked up", async () => {
  const { refusalOf, lookups } = createTrial();
  const headers = [
    null,
    "",
    "Bearer",
    "Bearer ",
    "Bearer    ",
    "secret",
    "Basic secret",
    "Bearersecret",
  ];
  for (const header of headers) {
    expect([header, await refusalOf(header)]).toEqual([header, "missing_api_key"]);
  }
  expect(lookups).toEqual([]);
});

test("gateway.authentication.2 a malformed key is invalid_api_key", async () => {
  const { refusalOf } = createTrial();
  const secrets = [
    "Secret",
    "secret ",
    "secret2",
    "secret, Bearer secret",
    "é",
    "'; DROP TABLE keys",
  ];
  for (const secret of secrets) {
    expect([secret, await refusalOf(`Bearer ${secret}`)]).toEqual([secret, "invalid_api_key"]);
  }
});

test("an overlong key is refused without hashing", async () => {
  const { refusalOf, lookups } = createTrial();
  expect(await refusalOf(`Bearer ${"x".repeat(513)}`)).toBe("invalid_api_key");
  expect(lookups).toEqual([]);
  expect(await refusalOf(`Bearer ${"x".repeat(512)}`)).toBe("invalid_api_key");
  expect(lookups).toHaveLength(1);
});

test("gateway.authentication.2 a revoked or expired key is refused like an unknown one", async () => {
  const revoked = createTrial({ ...key, revoked_at: 1 });
  expect(await revoked.refusalOf("Bearer secret")).toBe("invalid_api_key");

  const { clock, refusalOf } = createTrial({ ...key, expires_at: createManualClock().now() + 1 });
  expect(await refusalOf("Bearer secret")).toBeUndefined();
  await clock.advance(1);
  expect(await refusalOf("Bearer secret")).toBe("invalid_api_key");
});

test("only a request that its key admits is noted as a use of the key", async () => {
  const clock = createManualClock();
  const used: string[] = [];
  const useOf = async (found: FoundKey) => {
    const identify = createIdentify({ find: async () => found }, clock, (id) => used.push(id));
    await identify("Bearer secret").catch(() => {});
  };
  await useOf({ ...key, id: "revoked", revoked_at: 1 });
  await useOf({ ...key, id: "expired", expires_at: clock.now() });
  await useOf({ ...key, id: "rotated", secret_expires_at: clock.now() });
  await useOf({ ...key, id: "good" });
  expect(used).toEqual(["good"]);
});

test("an unknown scope in the database is ignored", async () => {
  const scopes = ["think", "of a later version"] as FoundKey["scopes"];
  const { scopes: held } = await createTrial({ ...key, scopes }).identify("Bearer secret");
  expect(held).toContain("think");
  expect(held).not.toContain("search");
});

test("a database failure is not reported as an invalid key", async () => {
  const identify = createIdentify(
    { find: () => Promise.reject(new Error("no database")) },
    createManualClock(),
  );
  await expect(identify("Bearer secret")).rejects.toThrow("no database");
});

test("gateway.authentication.2 a key's id resolves to its caller while the key is valid", async () => {
  const clock = createManualClock();
  const keys = new Map<string, FoundKey>([
    ["good", { ...key, expires_at: clock.now() + 1 }],
    ["revoked", { ...key, revoked_at: clock.now() }],
  ]);
  const find = createFindCaller({ findById: async (id) => keys.get(id) }, clock);
  const { model_states: _, ...caller } = await createTrial().identify("Bearer secret");
  expect(await find("good")).toEqual(caller);
  expect(await find("revoked")).toBeUndefined();
  expect(await find("nobody's")).toBeUndefined();
  await clock.advance(1);
  expect(await find("good")).toBeUndefined();
});

test("gateway.authentication.3 the id of a platform-internal key resolves to no caller", async () => {
  const internal = { ...key, kind: "internal" } as const;
  const find = createFindCaller({ findById: async () => internal }, createManualClock());
  expect(await find(key.id)).toBeUndefined();
});

test("a key that an operator sends requests as is looked up by its id, and has to be in force", async () => {
  const identify = (found?: Partial<FoundKey>) => {
    const clock = createManualClock();
    const findById = async () => found && { ...key, ...found };
    return createIdentifyKey(
      { findById } as never,
      clock,
    )(key.id).then(
      ({ key_id }) => key_id,
      ({ code }: ApiError) => code,
    );
  };
  expect(await identify({})).toBe(key.id);
  for (const found of [undefined, { revoked_at: 1 }, { expires_at: 1 }]) {
    expect(await identify(found)).toBe("invalid_api_key");
  }
});

test("the states of models that were read with a key hold for a tenth of a second", () => {
  const row = { off_models: "m-1 m-2", blocked_models: null, granted_models: "m-3" };
  const states = pickModelStates(row, 1_000);
  const state = { is_off: true, is_blocked: false, is_granted: false };
  expect(findModelState(states, "m-2", 1_100)).toEqual(state);
  expect(findModelState(states, "m-2", 1_101)).toBeUndefined();
});
