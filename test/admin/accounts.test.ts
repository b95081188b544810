// Accounts as the operator makes them.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { AdminError } from "../../src/admin/index.ts";
import { type House, openHouse } from "./fixture.ts";

let house: House;
beforeEach(async () => {
  house = await openHouse();
});
afterEach(() => house.close());

test("an account is made once, and listed by its name", async () => {
  const { accounts } = house.admin;
  const acme = await accounts.create("acme");
  await accounts.create("Zeta.2_b-c");
  await accounts.create("beta");
  await expect(accounts.create("acme")).rejects.toThrow('an account "acme" exists already');
  const names = (await accounts.list()).map(({ name }) => name);
  expect(names.toSorted()).toEqual(["Zeta.2_b-c", "acme", "beta"]);
  expect(acme).toEqual({ id: expect.any(String), name: "acme", created_at: house.clock.now() });
});

test("a name that would need quotes somewhere is refused", async () => {
  const { accounts } = house.admin;
  const long = "a".repeat(65);
  for (const name of ["", " ", "-a", ".a", "a b", "a/b", "ä", "a\n", "a\u0000", "a,b", long]) {
    await expect(accounts.create(name)).rejects.toBeInstanceOf(AdminError);
  }
  expect(await accounts.list()).toEqual([]);
  await accounts.create("a".repeat(64));
});

test("an account is held, for another reason from then on, and released", async () => {
  const { accounts } = house.admin;
  const { id } = await accounts.create("acme");
  const told: unknown[] = [];
  house.database.listen("runs.queued", (account_id) => void told.push(account_id));
  const held = {
    ...({ kind: "account", id, account_id: id, reason: "unpaid" } as const),
    since: house.clock.now(),
  };
  expect(await accounts.hold("acme", "unpaid")).toEqual(held);
  await house.clock.advance(5);
  expect(await accounts.hold("acme", null)).toEqual({ ...held, reason: null });
  expect(await house.access.holds.list()).toEqual([{ ...held, reason: null }]);
  await accounts.create("beta");
  // An agent's hold is none of its account.
  const agent = { kind: "agent", id: "g-1", account_id: id, reason: "loops", since: 0 } as const;
  await house.access.holds.hold(agent);
  expect(await accounts.list()).toMatchObject([
    { name: "acme", held_since: held.since, hold_reason: null },
    { name: "beta", held_since: null, hold_reason: null },
  ]);
  expect(told).toEqual([]);
  expect(await accounts.release("acme")).toBe(true);
  expect(await house.access.holds.find("account", id)).toBeUndefined();
  // Whoever starts runs looks again, once for each hold that ends.
  expect(told).toEqual([id]);
  expect(await accounts.release("acme")).toBe(false);
  expect(told).toEqual([id]);
});

test("an account that is not there is neither held nor released", async () => {
  const { accounts } = house.admin;
  await accounts.create("acme");
  const says = 'there is no account "acne"; did you mean "acme"?';
  await expect(accounts.hold("acne", null)).rejects.toThrow(says);
  await expect(accounts.release("acne")).rejects.toThrow(says);
  expect(await house.access.holds.list()).toEqual([]);
});
