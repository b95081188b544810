// Tests ids that operators type in part: completed where one fits, refused where none or several do.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { createIdResolver } from "../../src/admin/id-parts.ts";
import { keyOperations, nameLocalActor, perform } from "../../src/admin/index.ts";
import { type AdminFixture, keyRequest, openFixture } from "./fixture.ts";

let fixture: AdminFixture;
beforeEach(async () => {
  fixture = await openFixture();
  await fixture.admin.accounts.create("acme");
});
afterEach(() => fixture.close());

const ACTOR = nameLocalActor();
const revoke = (id: string) =>
  perform(fixture.admin, keyOperations.revoke, { id }, ACTOR) as Promise<{ id: string }>;
const create = async () => (await fixture.admin.keys.create(keyRequest())).key.id;

test("the last or first characters of one id stand for it, and the audit log names it whole", async () => {
  const id = await create();
  expect((await revoke(id.slice(-8))).id).toBe(id);
  expect((await revoke(id.slice(-6).toUpperCase())).id).toBe(id);
  expect((await revoke(id.slice(0, 13))).id).toBe(id);
  expect((await revoke(id.slice(0, 35))).id).toBe(id);
  expect((await revoke(id.toUpperCase())).id).toBe(id);
  const entries = await fixture.admin.audit.list({ limit: 10 });
  expect(entries.map(({ target }) => target)).toEqual(Array(5).fill(id));
  for (const { state_before } of entries) expect(state_before).toMatchObject({ id });
});

test("a search by the last characters lets other work go on", async () => {
  const limits: number[] = [];
  const database = {
    bind: () => ({
      findByBegin: async () => [],
      async searchByEnd(_: string, { limit }: { limit: number }) {
        limits.push(limit);
        return { found: [], lastId: "01" };
      },
    }),
  };
  const resolve = createIdResolver(database as never);
  let turns = 0;
  const count = () => {
    turns += 1;
    turn = setImmediate(count);
  };
  let turn = setImmediate(count);
  await expect(resolve("key", "ffffff")).rejects.toThrow("no key's id");
  clearImmediate(turn);
  // The search ends after a million ids.
  expect(limits).toEqual(Array.from({ length: 200 }, () => 5_000));
  expect(turns).toBeGreaterThan(100);
});

test("a part that several ids have is refused with those ids", async () => {
  const ids = [];
  for (let n = 0; n < 4; n++) ids.push(await create());
  await expect(revoke(ids[0]!.slice(0, 8))).rejects.toThrow(
    new RegExp(`begin or end so: ${ids.toReversed().join(", ")}$`),
  );
  for (let n = 0; n < 2; n++) ids.push(await create());
  const newest = ids.toReversed().slice(0, 4);
  // The ids of one instant begin with the same time.
  await expect(revoke(ids[0]!.slice(0, 8))).rejects.toThrow(
    `several ids of keys begin or end so: ${newest.join(", ")} and more`,
  );
});

test("a part of no id, too short a one and other texts are refused without an echo", async () => {
  await create();
  await expect(revoke("ffffffff")).rejects.toMatchObject({
    message: "no key's id begins or ends so: `wadi keys list` shows them",
    kind: "not found",
  });
  for (const typed of ["fffff", "svc_sk_abcdef", "%".repeat(8), "______"]) {
    await expect(revoke(typed)).rejects.toThrow("that is no key's id: `wadi keys list` shows them");
  }
});

test("no ids are searched by their end once five begin so", async () => {
  const store = { findByBegin: async () => ["1", "2", "3", "4", "5"] };
  const resolve = createIdResolver({ bind: () => store } as never);
  await expect(resolve("key", "abcdef")).rejects.toThrow("1, 2, 3, 4 and more");
});
