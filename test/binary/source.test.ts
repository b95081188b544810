// The program from source, without a build: the same first lines, the same command line.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openRoom, type Room } from "../support/binary.ts";

const command = [process.execPath, `${import.meta.dir}/../../src/main.ts`];

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

test("`bun src/main.ts` serves, with its writer thread", async () => {
  const server = await room.serve(["serve", "--port", "0"], { command });
  expect(server.banner[0]).toBe("wadi 0.0.0-source");
  expect((await server.chat("Hello")).status).toBe(201);
  server.signal("SIGTERM");
  expect(await server.exited).toBe(0);
});

test("`bun src/main.ts version` names no commit", async () => {
  const { stdout } = await room.run(["version", "--json"], { command });
  expect(JSON.parse(stdout)).toMatchObject({ commit: "source", bun: Bun.version });
});
