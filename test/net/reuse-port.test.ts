// Tests ports that two servers share during a takeover, on Linux.
import { expect, test } from "bun:test";
import { attractConnections, sharePort } from "../../src/net/reuse-port.ts";

const open = (port: number, name: string, reusePort: boolean) =>
  Bun.serve({ hostname: "127.0.0.1", port, reusePort, fetch: () => new Response(name) });

const ask = async (port: number): Promise<string> => {
  const reply = await fetch(`http://127.0.0.1:${port}/`, { keepalive: false });
  return reply.text();
};

if (process.platform !== "linux") test.skip("ports are shared (Linux)", () => {});
else {
  test("a port is shared only with a server that asks for it, and only once it is offered", async () => {
    const old = open(0, "old", false);
    const port = old.port!;
    expect(() => open(port, "stray", true)).toThrow();
    expect(sharePort(port)).toBeTrue();
    expect(() => open(port, "stray", false)).toThrow();
    const next = open(port, "new", true);
    expect(() => open(port, "stray", false)).toThrow();
    await next.stop(true);
    await old.stop(true);
  });

  test("new connections go to the newer server, and the next takeover works alike", async () => {
    let server = open(0, "0", false);
    const port = server.port!;
    for (const name of ["1", "2", "3"]) {
      expect(sharePort(port)).toBeTrue();
      const next = open(port, name, true);
      expect(attractConnections(port)).toBeTrue();
      for (let asked = 0; asked < 20; asked++) expect(await ask(port)).toBe(name);
      await server.stop(true);
      for (let asked = 0; asked < 5; asked++) expect(await ask(port)).toBe(name);
      server = next;
    }
    await server.stop(true);
  });

  test("a port without a listener of this process is not shared", () => {
    expect(sharePort(1)).toBeFalse();
    expect(attractConnections(1)).toBeFalse();
  });
}
