// Tests the descriptors reserved for the server's own connections.
import { expect, test } from "bun:test";

test.skipIf(process.platform !== "linux")(
  "an eighth of the descriptors is left for what runs with the reserve",
  async () => {
    const program = Bun.fileURLToPath(
      new URL("../support/descriptors-reserved.ts", import.meta.url),
    );
    const limited = `ulimit -n 200; exec "${process.execPath}" "${program}"`;
    const child = Bun.spawn(["sh", "-c", limited], { stderr: "inherit" });
    expect(await new Response(child.stdout).json()).toEqual({
      isMany: true,
      within: 10,
      after: 0,
      rest: 15,
    });
    expect(await child.exited).toBe(0);
  },
);
