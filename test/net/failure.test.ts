// Tests the classification of real failures on loopback.
import { expect, test } from "bun:test";
import { explainFetchFailure } from "../../src/net/failure.ts";
import { certificate, certificateKey, certificateName } from "../support/certificate.ts";
import { findClosedPort } from "../support/ports.ts";
import { listenRaw, plainReply } from "./raw-server.ts";

// Labels end at 63 characters, so this name fails without a DNS query.
const impossibleName = `${"a".repeat(70)}.com`;

async function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(() => "no failure", explainFetchFailure);
}

test("a port without a listener refuses", async () => {
  expect(await failureOf(fetch(`http://127.0.0.1:${findClosedPort()}`))).toBe("refused");
});

test("a connection that ends before the reply is a reset", async () => {
  using server = listenRaw((socket) => socket.end());
  expect(await failureOf(fetch(server.origin))).toBe("reset");
});

test("a connection that breaks within the body is a reset", async () => {
  using server = listenRaw((socket) => {
    socket.say("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
    socket.break();
  });
  expect(await failureOf(fetch(server.origin).then((reply) => reply.text()))).toBe("reset");
});

test("a name without an address is a DNS failure, in fetch and in the lookup", async () => {
  expect(await failureOf(fetch(`http://${impossibleName}/`))).toBe("dns");
  expect(await failureOf(Bun.dns.lookup(impossibleName))).toBe("dns");
});

test("an untrusted certificate, or one of another name, is a TLS failure", async () => {
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: certificate, key: certificateKey },
    fetch: () => new Response("ok"),
  });
  const url = `https://127.0.0.1:${server.port}/`;
  expect(await failureOf(fetch(url, { tls: { serverName: certificateName } }))).toBe("tls");
  const other = { ca: certificate, serverName: "other.acme.com" };
  expect(await failureOf(fetch(url, { tls: other }))).toBe("tls");
  const right = { ca: certificate, serverName: certificateName };
  expect(await failureOf(fetch(url, { tls: right }))).toBe("no failure");
});

test("a server that does not speak TLS is a TLS failure", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  expect(await failureOf(fetch(server.origin.replace("http:", "https:")))).toBe("tls");
});

test("an abort and a timeout are distinguished", async () => {
  using server = listenRaw(() => {});
  const late = new DOMException("late", "TimeoutError");
  const url = server.origin;
  expect(await failureOf(fetch(url, { signal: AbortSignal.abort() }))).toBe("aborted");
  expect(await failureOf(fetch(url, { signal: AbortSignal.abort(late) }))).toBe("timeout");
  expect(await failureOf(fetch(url, { signal: AbortSignal.timeout(1) }))).toBe("timeout");
});

test("a reply that is not HTTP, and any other thrown value, is other", async () => {
  using server = listenRaw((socket) =>
    socket.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
  );
  expect(await failureOf(fetch(server.origin).then((reply) => reply.text()))).toBe("other");
  expect(explainFetchFailure(new Error("ECONNRESET"))).toBe("other");
  expect(explainFetchFailure("ECONNRESET")).toBe("other");
  expect(explainFetchFailure(undefined)).toBe("other");
});
