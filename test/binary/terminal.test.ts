// The compiled program's tables on a terminal, and in full through a pipe.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openRoom, type Room } from "../support/binary.ts";

let room: Room;
let id: string;
beforeAll(async () => {
  room = openRoom();
  expect((await room.perform(["accounts", "create", "acme"])).code).toBe(0);
  const made = await room.perform(["keys", "create", "--account", "acme", "--json"]);
  id = JSON.parse(made.stdout).id;
});
afterAll(() => room.close());

const GREY = "\u001b[2m";
const PLAIN = "\u001b[0m";

test("a table on a terminal has a short id, and no column without a value", async () => {
  expect(await room.type(["keys", "list"], 80)).toBe(
    `${GREY}ID        ACCOUNT  KIND${PLAIN}\n${id.slice(-8)}  acme     ordinary\n`,
  );
});

test("NO_COLOR and a dumb terminal get no colour", async () => {
  const plain = `ID        ACCOUNT  KIND\n${id.slice(-8)}  acme     ordinary\n`;
  const plainly: Record<string, string>[] = [{ NO_COLOR: "1" }, { TERM: "dumb" }];
  for (const env of plainly) {
    expect(await room.type(["keys", "list"], 80, { env })).toBe(plain);
  }
});

test("a pipe gets whole ids and every column", async () => {
  const { stdout } = await room.perform(["keys", "list"]);
  expect(stdout).toBe(
    `ID${" ".repeat(36)}ACCOUNT  NAME  KIND      SCOPES  MODELS  EXPIRES_AT  REVOKED_AT\n` +
      `${id}  acme     -     ordinary  -       -       -           -\n`,
  );
});

test("the short id of a table is accepted back", async () => {
  const { code, stdout } = await room.perform(["keys", "revoke", id.slice(-8), "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ id, revoked_at: expect.any(String) });
  const unknown = await room.perform(["keys", "revoke", "ffffffff"]);
  expect(unknown).toMatchObject({
    code: 1,
    stderr: "wadi: no key's id begins or ends so: `wadi keys list` shows them\n",
  });
});
