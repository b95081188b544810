// Accounts as the operator makes them.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { OperatorProblem } from "../../src/operator/index.ts";
import { type House, openHouse } from "./house.ts";

let house: House;
beforeEach(async () => {
  house = await openHouse();
});
afterEach(() => house.close());

test("an account is made once, and listed by its name", async () => {
  const { accounts } = house.operator;
  const acme = await accounts.create("acme");
  await accounts.create("Zeta.2_b-c");
  await accounts.create("beta");
  await expect(accounts.create("acme")).rejects.toThrow('an account "acme" exists already');
  const names = (await accounts.list()).map(({ name }) => name);
  expect(names.toSorted()).toEqual(["Zeta.2_b-c", "acme", "beta"]);
  expect(acme).toEqual({ id: expect.any(String), name: "acme", created_at: house.clock.now() });
});

test("a name that would need quotes somewhere is refused", async () => {
  const { accounts } = house.operator;
  const long = "a".repeat(65);
  for (const name of ["", " ", "-a", ".a", "a b", "a/b", "ä", "a\n", "a\u0000", "a,b", long]) {
    await expect(accounts.create(name)).rejects.toBeInstanceOf(OperatorProblem);
  }
  expect(await accounts.list()).toEqual([]);
  await accounts.create("a".repeat(64));
});
