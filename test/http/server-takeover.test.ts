// Tests a server that takes over the addresses of another one, on Linux.
import { expect, spyOn, test } from "bun:test";
import type { HttpServerOptions } from "../../src/http/server.ts";
import { openRaw } from "./raw-client.ts";
import { createTestServer, describeRoute } from "./test-server.ts";

const GET = "GET /v1/name HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer key\r\n\r\n";

const create = (name: string, at: Partial<HttpServerOptions> = {}) =>
  createTestServer(
    (router) => router.get("/v1/name", describeRoute<never>(), () => [200, { name }]),
    {},
    [],
    at,
  ).server;

/** Connects within the call, other than `node:net`; "" where the connection ends without a reply. */
function getAtOnce(port: number): Promise<string> {
  const reply = Promise.withResolvers<string>();
  const socket = {
    open: (to: Bun.Socket) => void to.write(GET),
    data: (_: unknown, bytes: Buffer) => reply.resolve(bytes.toString()),
    close: () => reply.resolve(""),
  };
  void Bun.connect({ hostname: "127.0.0.1", port, socket });
  return reply.promise;
}

if (process.platform !== "linux") test.skip("a server takes over (Linux)", () => {});
else {
  test("connections of before stay with the old server until its next reply, new ones reach the new server", async () => {
    const old = create("old");
    old.start();
    const kept = await openRaw(old.url);
    const silent = await openRaw(old.url);
    for (let asked = 0; asked < 2; asked++) {
      kept.write(GET);
      expect((await kept.read())!.headers.connection).not.toBe("close");
    }
    expect(old.share()).toBeTrue();
    const next = create("new", { shared: old.addresses });
    next.start();
    expect(next.url).toBe(old.url);
    old.isLeaving = true;
    for (const client of [kept, silent]) {
      client.write(GET);
      const reply = (await client.read())!;
      expect(reply.body).toContain("old");
      expect(reply.headers.connection).toBe("close");
      await client.closed;
    }
    const client = await openRaw(old.url);
    client.write(GET);
    expect((await client.read())!.body).toContain("new");
    await old.stop(0);
    client.write(GET);
    expect((await client.read())!.body).toContain("new");
    await next.stop(0);
  });

  test("a server that takes over from none of its addresses listens on its own", async () => {
    const old = create("old");
    old.start();
    old.share();
    const [{ port }] = old.addresses as [{ host: string; port: number }];
    const elsewhere = create("new", { port, shared: [{ host: "127.0.0.2", port }] });
    expect(() => elsewhere.start()).toThrow(`port ${port} on 127.0.0.1 is taken`);
    await old.stop(0);
  });

  test("the operator API's own address is taken over, too", async () => {
    const old = create("old", { operatorListen: "127.0.0.1:0" });
    old.start();
    expect(old.addresses).toHaveLength(2);
    expect(old.share()).toBeTrue();
    const next = create("new", { operatorListen: "127.0.0.1:0", shared: old.addresses });
    next.start();
    expect(next.addresses).toEqual(old.addresses);
    await old.stop(0);
    await next.stop(0);
  });

  test("a start that fails on one address resets no connection of the other", async () => {
    const old = create("old");
    old.start();
    old.share();
    const taken = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("") });
    const operatorListen = `127.0.0.1:${taken.port}`;
    const next = create("new", { shared: old.addresses, operatorListen });
    const replies: Promise<string>[] = [];
    const { serve } = Bun;
    const serving = spyOn(Bun, "serve").mockImplementation(((options: Bun.Serve.Options<null>) => {
      replies.push(getAtOnce(old.addresses[0]!.port));
      return serve(options);
    }) as typeof serve);
    expect(() => next.start()).toThrow("choose another with operator.listen");
    serving.mockRestore();
    for (const reply of await Promise.all(replies)) expect(reply).toContain("old");
    await taken.stop(true);
    await old.stop(0);
  });
}
