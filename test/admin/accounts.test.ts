// Tests how the operator creates, holds and releases accounts.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { AdminError } from "../../src/admin/index.ts";
import { type AdminFixture, openFixture } from "./fixture.ts";

let fixture: AdminFixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

test("an account is created once, and listed by its name", async () => {
  const { accounts } = fixture.admin;
  const acme = await accounts.create("acme");
  await accounts.create("Zeta.2_b-c");
  await accounts.create("beta");
  await expect(accounts.create("acme")).rejects.toThrow('an account "acme" exists already');
  const names = (await accounts.list()).map(({ name }) => name);
  expect(names.toSorted()).toEqual(["Zeta.2_b-c", "acme", "beta"]);
  expect(acme).toEqual({ id: expect.any(String), name: "acme", created_at: fixture.clock.now() });
});

test("a name that would need quoting is refused", async () => {
  const { accounts } = fixture.admin;
  const long = "a".repeat(65);
  for (const name of ["", " ", "-a", ".a", "a b", "a/b", "ä", "a\n", "a\u0000", "a,b", long]) {
    await expect(accounts.create(name)).rejects.toBeInstanceOf(AdminError);
  }
  expect(await accounts.list()).toEqual([]);
  await accounts.create("a".repeat(64));
});

test("an account can be held, its reason replaced, and released", async () => {
  const { accounts } = fixture.admin;
  const { id } = await accounts.create("acme");
  const notified: unknown[] = [];
  fixture.database.listen("runs.queued", (account_id) => void notified.push(account_id));
  const held = {
    ...({ kind: "account", id, account_id: id, reason: "unpaid" } as const),
    since: fixture.clock.now(),
  };
  expect(await accounts.hold("acme", "unpaid")).toEqual(held);
  await fixture.clock.advance(5);
  expect(await accounts.hold("acme", null)).toEqual({ ...held, reason: null });
  expect(await fixture.access.holds.list()).toEqual([{ ...held, reason: null }]);
  await accounts.create("beta");
  // An agent's hold does not belong to its account.
  const agent = { kind: "agent", id: "g-1", account_id: id, reason: "loops", since: 0 } as const;
  await fixture.access.holds.hold(agent);
  expect(await accounts.list()).toMatchObject([
    { name: "acme", held_since: held.since, hold_reason: null },
    { name: "beta", held_since: null, hold_reason: null },
  ]);
  expect(notified).toEqual([]);
  expect(await accounts.release("acme")).toBe(true);
  expect(await fixture.access.holds.find("account", id)).toBeUndefined();
  // The run engine is notified once for each hold that ends.
  expect(notified).toEqual([id]);
  expect(await accounts.release("acme")).toBe(false);
  expect(notified).toEqual([id]);
});

test("an unknown account can be neither held nor released", async () => {
  const { accounts } = fixture.admin;
  await accounts.create("acme");
  const says = 'there is no account "acne"; did you mean "acme"?';
  await expect(accounts.hold("acne", null)).rejects.toThrow(says);
  await expect(accounts.release("acne")).rejects.toThrow(says);
  expect(await fixture.access.holds.list()).toEqual([]);
});
