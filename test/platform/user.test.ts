// The name of who runs the program is the system's, whatever the environment says.
import { expect, test } from "bun:test";
import { nameUser } from "../../src/platform/process.ts";

test("the user's name is what the system says, and not what the environment does", () => {
  const before = process.env.USER;
  try {
    process.env.USER = "mallory";
    const said = Bun.spawnSync(["id", "-un"]).stdout.toString().trim();
    expect(nameUser()).toBe(said || `uid ${process.getuid!()}`);
  } finally {
    if (before === undefined) delete process.env.USER;
    else process.env.USER = before;
  }
});
