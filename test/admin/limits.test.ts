// Tests how an operator changes limits of accounts and keys, and what is shown of their use.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { perform } from "../../src/admin/index.ts";
import { accountOperations } from "../../src/admin/operations/accounts.ts";
import { keyOperations } from "../../src/admin/operations/keys.ts";
import { budgetStore } from "../../src/gateway/budgets/store.ts";
import { type AdminFixture, keyRequest, openFixture } from "./fixture.ts";

const ACTOR = { kind: "operator", name: "noura", via: "operator API" } as const;
const UNKNOWN = "0198f000-0000-7000-8000-000000000001";

let fixture: AdminFixture;
let keyId: string;
let accountId: string;
beforeEach(async () => {
  fixture = await openFixture(["stub-1"], '\n[service]\nzone = "Asia/Riyadh"\n');
  const account = await fixture.admin.accounts.create("acme");
  accountId = account.id;
  keyId = (await fixture.admin.keys.create(keyRequest())).key.id;
});
afterEach(() => fixture.close());

const limitAccount = (fields: object, name = "acme") =>
  perform(fixture.admin, accountOperations.limit, { name, ...fields }, ACTOR);

describe("limits of an account", () => {
  test("are listed beside those of other accounts, by their names", async () => {
    await fixture.admin.accounts.create("zeta");
    await limitAccount({ tokens_day: 7 }, "zeta");
    await limitAccount({ requests_minute: 5, cost_month: "2" });
    const all = await perform(fixture.admin, accountOperations.listLimits, {}, ACTOR);
    expect(all).toMatchObject([
      { account: "acme", name: "requests_minute", maximum: 5, used: 0 },
      { account: "acme", name: "cost_month", maximum: "2.000000" },
      { account: "zeta", name: "tokens_day", maximum: 7 },
    ]);
  });

  test("are listed with their use, and change one by one", async () => {
    expect(await limitAccount({ tokens_day: 2_000_000, cost_month: "500.5" })).toEqual({
      limits: [
        {
          name: "tokens_day",
          measure: "tokens",
          period: "day",
          maximum: 2_000_000,
          used: 0,
          reserved: 0,
          estimated_requests: 0,
          starts_at: "2026-11-19T21:00:00.000Z",
          resets_at: "2026-11-20T21:00:00.000Z",
        },
        {
          name: "cost_month",
          measure: "cost",
          period: "month",
          maximum: "500.500000",
          used: "0.000000",
          reserved: "0.000000",
          estimated_requests: 0,
          starts_at: "2026-10-31T21:00:00.000Z",
          resets_at: "2026-11-30T21:00:00.000Z",
        },
      ],
    });
    expect(await limitAccount({ tokens_day: null, requests_minute: 5 })).toMatchObject({
      limits: [
        { name: "requests_minute", maximum: 5 },
        { name: "cost_month", maximum: "500.500000" },
      ],
    });
    expect(await limitAccount({ requests_minute: null, cost_month: null })).toEqual({ limits: [] });
  });

  test("show what is reserved and used in their period, of this account alone", async () => {
    await limitAccount({ tokens_day: 100, tokens_month: 200, requests_minute: 9 });
    const store = fixture.database.bind(budgetStore);
    const now = fixture.clock.now();
    const reserve = (id: string, at: number, subject = `account ${accountId}`) =>
      store.reserve({ id, at, subjects: [subject], tokens: 50, cost: 7 });
    await reserve("r-1", now);
    await reserve("r-2", now - 86_400_000);
    await reserve("r-3", now, `key ${keyId}`);
    await reserve("r-4", now - 120_000);
    const used = { requests: 1, estimated: 1, tokens: 30, cost: 5 };
    await store.settle([{ id: "r-4", ...used }], []);
    const shown = await perform(
      fixture.admin,
      accountOperations.readLimits,
      { name: "acme" },
      ACTOR,
    );
    expect(shown).toMatchObject({
      limits: [
        { name: "requests_minute", used: 0, reserved: 1 },
        { name: "tokens_day", used: 30, reserved: 50, estimated_requests: 1 },
        { name: "tokens_month", used: 30, reserved: 100 },
      ],
    });
    expect(await limitAccount({ tokens_day: 100 })).toEqual(shown);
    const ofKey = { limits: [{ name: "tokens_day", maximum: 60, used: 0, reserved: 50 }] };
    const limited = { id: keyId, tokens_day: 60 };
    expect(await perform(fixture.admin, keyOperations.limit, limited, ACTOR)).toMatchObject(ofKey);
    const read = perform(fixture.admin, keyOperations.readLimits, { id: keyId }, ACTOR);
    expect(await read).toMatchObject(ofKey);
  });

  test("show a reservation at the instant between two minutes in the second one only", async () => {
    await limitAccount({ requests_minute: 9 });
    const store = fixture.database.bind(budgetStore);
    const end = fixture.clock.now() + 60_000;
    const subjects = [`account ${accountId}`];
    await store.reserve({ id: "r-1", at: end, subjects, tokens: 50, cost: 7 });
    const show = () =>
      perform(fixture.admin, accountOperations.readLimits, { name: "acme" }, ACTOR);
    const before = { resets_at: new Date(end).toISOString(), reserved: 0 };
    expect(await show()).toMatchObject({ limits: [before] });
    await fixture.clock.advance(60_000);
    const after = { starts_at: new Date(end).toISOString(), reserved: 1 };
    expect(await show()).toMatchObject({ limits: [after] });
  });

  test("are logged before and after", async () => {
    await limitAccount({ cost_day: "1.5" });
    await limitAccount({ cost_day: null, tokens_day: 7 });
    const [second, first] = await fixture.admin.audit.list({ limit: 10 });
    expect(first).toMatchObject({ state_before: {}, state_after: { cost_day: "1.500000" } });
    expect(second).toMatchObject({
      operation: "accounts limit --change",
      target: "acme",
      state_before: { cost_day: "1.500000" },
      state_after: { tokens_day: 7 },
    });
  });

  test("of an unknown account or above the maximum are refused", async () => {
    await expect(limitAccount({ tokens_day: 1 }, "acne")).rejects.toThrow('did you mean "acme"?');
    await expect(limitAccount({ tokens_day: 1e15 + 1 })).rejects.toThrow(
      "from 0 to 1000000000000000",
    );
    for (const cost_day of ["1000000000", "0.0000001", "01", "1.", "-1", ""]) {
      await expect(limitAccount({ cost_day })).rejects.toThrow(
        "`cost_day` must be an amount below 1000000000.00",
      );
    }
    for (const cost_day of ["999999999.999999", "0.000001", "0.000000"]) {
      const limits = [{ name: "cost_day", maximum: cost_day }];
      expect(await limitAccount({ cost_day })).toMatchObject({ limits });
    }
  });
});

test("limits of a key are its own, and are found by its id in any case", async () => {
  const limit = (id: string, fields: object) =>
    perform(fixture.admin, keyOperations.limit, { id, ...fields }, ACTOR);
  expect(await limit(keyId.toUpperCase(), { requests_day: 3 })).toMatchObject({
    limits: [{ name: "requests_day", maximum: 3 }],
  });
  const shown = await perform(fixture.admin, keyOperations.readLimits, { id: keyId }, ACTOR);
  expect(shown).toMatchObject({ limits: [{ name: "requests_day", maximum: 3, used: 0 }] });
  expect(await limitAccount({})).toEqual({ limits: [] });
  await expect(limit(UNKNOWN, { requests_day: 3 })).rejects.toThrow("there is no key");
  await expect(limit("svc_sk_secret", {})).rejects.toThrow("that is no key's id");
});
