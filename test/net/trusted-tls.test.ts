// Tests that the trusted egress verifies certificates before a byte is sent.
import { expect, test } from "bun:test";
import {
  certificate,
  certificateKey,
  localCertificate,
  localCertificateKey,
} from "../support/certificate.ts";
import { createAsker } from "./asker.ts";
import { listenRaw } from "./raw-server.ts";

/** A TLS server on loopback with the test's certificate, and its requests. */
function serveSecure(names: Bun.TLSOptions = { cert: certificate, key: certificateKey }) {
  const asked: string[] = [];
  const ports: number[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: names,
    async fetch(request, self) {
      ports.push(self.requestIP(request)!.port);
      asked.push(await request.text());
      return new Response("secret");
    },
  });
  return { asked, ports, port: server.port, [Symbol.dispose]: () => void server.stop(true) };
}

const at = (port: number | undefined, host = "127.0.0.1") => `https://${host}:${port}/`;

const local: Bun.TLSOptions = { cert: localCertificate, key: localCertificateKey };

test("a server with a valid name or address gets requests, over one connection", async () => {
  using server = serveSecure(local);
  for (const host of ["localhost", "127.0.0.1"]) {
    const { ask, egress, rest } = createAsker({ ca: localCertificate });
    const body = "é".repeat(200_000);
    for (let round = 0; round < 2; round += 1) {
      const { ended } = ask(at(server.port, host), { body });
      expect(await ended).toMatchObject({ body: "secret", end: "whole" });
      await rest();
    }
    egress.close();
    expect([new Set(server.ports).size, ...server.asked.splice(0)]).toEqual([1, body, body]);
    server.ports.length = 0;
  }
});

test("an untrusted certificate is refused before a byte is sent", async () => {
  using server = serveSecure(local);
  expect((await createAsker().ask(at(server.port)).ended).end).toBe("tls");
  expect(server.asked).toEqual([]);
});

test("a certificate of another name is refused, even with a trusted issuer", async () => {
  using server = serveSecure();
  for (const host of ["127.0.0.1", "localhost"]) {
    expect((await createAsker({ ca: certificate }).ask(at(server.port, host)).ended).end).toBe(
      "tls",
    );
  }
  expect(server.asked).toEqual([]);
});

test("a certificate is verified whatever the environment sets", async () => {
  using server = serveSecure();
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  try {
    using own = serveSecure(local);
    expect((await createAsker().ask(at(own.port)).ended).end).toBe("tls");
    expect(own.asked).toEqual([]);
    expect((await createAsker({ ca: certificate }).ask(at(server.port)).ended).end).toBe("tls");
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  }
  expect(server.asked).toEqual([]);
});

test("a server that does not speak TLS is refused", async () => {
  using server = listenRaw((socket) => socket.say("HTTP/1.1 400 Bad Request\r\n\r\n"));
  expect((await createAsker().ask(at(server.port)).ended).end).toBe("tls");
});

test("a server that never replies is given up after the connect timeout", async () => {
  const asked = Promise.withResolvers<void>();
  using server = listenRaw(() => asked.resolve());
  const { ask, clock } = createAsker();
  const { ended } = ask(at(server.port));
  await asked.promise;
  await clock.advance(4_999);
  expect(Bun.peek.status(ended)).toBe("pending");
  await clock.advance(1);
  expect((await ended).end).toBe("timeout");
  expect(clock.pending()).toBe(0);
});
