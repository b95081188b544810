// Tests the operator's connection commands.
import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  AdminError,
  connectionOperations,
  nameLocalActor,
  perform,
} from "../../src/admin/index.ts";
import { type AdminFixture, openFixture } from "./fixture.ts";

let fixture: AdminFixture;
beforeEach(async () => {
  fixture = await openFixture(["stub-1"], "[limits]\nconnections = 2\n");
  for (const account of ["beta", "acme"]) await fixture.admin.accounts.create(account);
});
afterEach(() => fixture.close());

const SECRET = "sk_canary_55";
const NOBODYS = "01920000-0000-7000-8000-00000000dead";
const create = (fields: object = {}) =>
  fixture.admin.connections.create({
    ...{ name: "Letters", account: "acme", kind: null, header_name: null, allowed_hosts: [] },
    ...{ secret: SECRET, ...fields },
  });

test("a connection is created for an account, with the kind that its header names", async () => {
  const made = await create();
  expect(made).toMatchObject({ account: "acme", name: "Letters", kind: "bearer" });
  const header = { name: "Key", header_name: "X-Key", allowed_hosts: ["api.example.com"] };
  expect(await create(header)).toMatchObject({ ...header, kind: "header" });
  expect(JSON.stringify([made, await fixture.admin.connections.list(null)])).not.toContain(SECRET);
});

test("connections are listed with their owners, newest first, of all accounts or of one", async () => {
  const { connections } = fixture.admin;
  expect(await connections.list(null)).toEqual([]);
  await create();
  await fixture.clock.advance(1);
  await create({ account: "beta" });
  const list = async (account: string | null) =>
    (await connections.list(account)).map((row) => `${row.account} ${row.name}`);
  expect(await list(null)).toEqual(["beta Letters", "acme Letters"]);
  expect(await list("acme")).toEqual(["acme Letters"]);
  await expect(list("acne")).rejects.toThrow('did you mean "acme"?');
});

test("a secret is replaced, and a connection deleted, by id in any case", async () => {
  const { connections } = fixture.admin;
  const { id, secret_set_at } = await create();
  await fixture.clock.advance(5);
  const set = await connections.setSecret(id.toUpperCase(), "another");
  expect(set).toMatchObject({ id, account: "acme", secret_set_at: secret_set_at + 5 });
  expect(await connections.remove(id.toUpperCase())).toBe(id);
  expect(await connections.list(null)).toEqual([]);
  for (const again of [() => connections.remove(id), () => connections.setSecret(NOBODYS, "x")]) {
    const failure = await again().catch((error) => error);
    expect(failure).toBeInstanceOf(AdminError);
    expect(failure.message).toEndWith("see `wadi connections list`");
  }
  await expect(connections.remove(SECRET)).rejects.toThrow(
    "that is no connection's id: `wadi connections list` shows them",
  );
});

test("each change is logged with its connection, before and after, and without a secret", async () => {
  const { admin, clock } = fixture;
  const run = (verb: "create" | "setSecret" | "delete", request: object) =>
    perform(admin, connectionOperations[verb] as never, request as never, nameLocalActor());
  const last = async () => (await admin.audit.list({ limit: 1 }))[0]!;
  const hosts = { allowed_hosts: ["api.example.com"] };
  const request = { account: "acme", name: "Letters", secret: SECRET, ...hosts };
  const { id } = (await run("create", request)) as { id: string };
  expect(await last()).toMatchObject({ operation: "connections create", target: id });
  expect((await last()).state_after).toMatchObject({ account: "acme", ...hosts });
  await clock.advance(5);
  const others = { allowed_hosts: ["b.example.com", "c.example.com"] };
  const typed = { id: id.toUpperCase(), secret: SECRET };
  expect(await run("setSecret", { ...typed, ...others })).toMatchObject({ id, ...others });
  expect(await last()).toMatchObject({ state_before: hosts, state_after: others });
  expect(await run("setSecret", typed)).toMatchObject({ id, ...others });
  await run("delete", { id });
  expect(await last()).toMatchObject({ target: id, state_before: others, state_after: null });
  expect(JSON.stringify(await admin.audit.list({ limit: 9 }))).not.toContain(SECRET);
});

test("an error is one sentence, and never quotes the secret", async () => {
  const problems: [object, string][] = [
    [{ account: "acne" }, 'there is no account "acne"; did you mean "acme"?'],
    [{ kind: "beaer" }, 'there is no kind "beaer"; did you mean "bearer"?'],
    [{ kind: "header" }, "`header_name` is needed with the kind `header`."],
    [{ kind: "bearer", header_name: "X-Key" }, "`header_name` goes with the kind `header` only."],
    [{ header_name: "Host" }, "`header_name` names a header that may not carry a secret."],
    [{ name: "" }, "`name` must be a text of 1 to 200 characters."],
    [{ name: "n".repeat(201) }, "`name` must be a text of 1 to 200 characters."],
    [
      { secret: `${SECRET}\nx` },
      "`secret` must be visible ASCII characters, without spaces and line breaks.",
    ],
    [{ secret: SECRET.repeat(1_000) }, "`secret` must have at most 8192 characters."],
    [{ allowed_hosts: Array.from({ length: 21 }, (_, n) => `h${n}`) }, "at most 20 hosts"],
  ];
  for (const [fields, says] of problems) {
    const failure = await create(fields).catch((error) => error);
    expect([fields, failure]).toEqual([fields, expect.any(AdminError)]);
    expect(failure.message).toContain(says);
    expect(failure.message).not.toContain("canary");
  }
  const { id } = await create();
  await expect(
    fixture.admin.connections.setSecret(id, SECRET, ["https://api.example.com"]),
  ).rejects.toThrow("`allowed_hosts` must name whole hosts");
  await expect(create()).rejects.toThrow('A connection of the name "Letters" exists.');
  await create({ name: "Two" });
  await expect(create({ name: "Three" })).rejects.toThrow(
    "The account has 2 connections, and may have no more.",
  );
});
