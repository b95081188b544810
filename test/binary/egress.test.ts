// The compiled program prints at its start which non-public addresses agents may reach.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRoom, type Room } from "../support/binary.ts";

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

test("every start prints the allowed addresses, and nothing if there are none", async () => {
  writeFileSync(join(room.directory, "open.toml"), '[egress]\nallow = ["[::1]:9000"]\n');
  for (const verb of ["dev", "serve"]) {
    const line = [verb, "--port", "0", "--data", `data-${verb}`];
    const open = ["--config", "open.toml", "--allow-egress", "127.0.0.1:*"];
    const more = ["--allow-egress", "hooks.acme.internal:443"];
    const { banner } = await room.serve([...line, ...open, ...more]);
    expect(banner).toContain("egress    open to [::1]:9000 127.0.0.1:* hooks.acme.internal:443");
    expect(banner.length).toBeLessThanOrEqual(12);
  }
  const { banner } = await room.serve(["dev", "--port", "0"]);
  expect(banner.join("\n")).not.toContain("egress");
});

test("a start with --json prints them as a list", async () => {
  const line = ["dev", "--port", "0", "--json", "--allow-egress", "127.0.0.1:*"];
  const { banner } = await room.serve(line);
  expect(JSON.parse(banner.at(-1)!).egress).toEqual({ open: ["127.0.0.1:*"] });
});

test("an invalid address is wrong usage, and in the file an error with line and key", async () => {
  for (const verb of ["dev", "serve"]) {
    const { code, stderr } = await room.perform([verb, "--allow-egress", "127.0.0.1"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'wadi: --allow-egress must be HOST:PORT, HOST:* or [IPV6]:PORT, but is "127.0.0.1"\n',
    });
  }
  writeFileSync(join(room.directory, "bad.toml"), '\n[egress]\nallow = ["a:1", "10.0.0.9"]\n');
  const { code, stderr } = await room.perform(["serve", "--config", "bad.toml"]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr:
      "wadi: bad.toml:3:17: egress.allow[1] must be HOST:PORT, HOST:* or [IPV6]:PORT, " +
      'but is "10.0.0.9"\n',
  });
});
