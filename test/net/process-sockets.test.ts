// Tests the list of connections accepted by this process, on Linux.
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { openProcessSockets } from "../../src/net/process-sockets.ts";

const sockets = openProcessSockets();

if (!sockets) test.skip("connections are listed and ended (Linux)", () => {});
else {
  for (const hostname of ["127.0.0.1", "::"]) {
    test(`connections to ${hostname} are listed with their byte counts, and can be ended`, async () => {
      const server = Bun.serve({ hostname, port: 0, fetch: () => new Response("x") });
      const port = server.port!;
      const dial = async (text: string) => {
        const client = connect(port, "127.0.0.1");
        const ended = new Promise((resolve) => client.on("close", resolve));
        await new Promise<void>((resolve) => client.once("connect", resolve));
        if (text !== "") {
          client.write(text);
          await new Promise((resolve) => client.once("data", resolve));
        }
        client.on("data", () => {});
        return { client, ended, port: client.localPort! };
      };
      const silent = await dial("");
      const asking = await dial("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      const find = (one: { port: number }) =>
        sockets.list(port, 0, 4_096).find((socket) => socket.port === one.port);
      // The other side is connected before this one has accepted.
      while (!find(silent)) await new Promise((resolve) => setImmediate(resolve));
      expect(find(silent)).toMatchObject({
        address: { bits: 32, value: 0x7f00_0001n },
        hasReceived: false,
        hasSent: false,
      });
      expect(find(asking)).toMatchObject({ hasReceived: true, hasSent: true });
      expect(sockets.list(port, 0, 4_096)).toHaveLength(2);
      expect(sockets.count()).toBeLessThan(sockets.limit);

      // The descriptor was reused by now, or bytes have come: nothing is ended.
      sockets.end({ ...find(silent)!, port: 1 });
      sockets.end({ ...find(silent)!, address: { bits: 32, value: 1n } });
      sockets.end({ ...find(silent)!, hasReceived: true });
      silent.client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      const replied = new Promise((resolve) => silent.client.once("data", () => resolve("reply")));
      expect(await Promise.race([replied, silent.ended])).toBe("reply");
      sockets.end(find(silent)!);
      await silent.ended;
      expect(find(asking)).toBeDefined();
      asking.client.destroy();
      await server.stop(true);
    });
  }
}
