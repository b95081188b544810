// Tests TLS: another certificate takes effect while requests and streams go on.
import { expect, test } from "bun:test";
import { connect } from "node:tls";
import type { HttpServerOptions } from "../../src/http/server.ts";
import {
  certificate,
  certificateKey,
  certificateName,
  localCertificate,
  localCertificateKey,
} from "../support/certificate.ts";
import { Counter } from "../support/counter.ts";
import { openRaw } from "./raw-client.ts";
import { createTestServer, describeRoute } from "./test-server.ts";

const FIRST = { cert: localCertificate, key: localCertificateKey };
const SECOND = { cert: certificate, key: certificateKey };
const GET = "GET /v1/name HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer key\r\n\r\n";
const ASK = { tls: { rejectUnauthorized: false }, headers: { authorization: "Bearer key" } };

function open(at: Partial<HttpServerOptions> = {}) {
  /** A slow request under way; it is answered once `release` is resolved. */
  const reached = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const opened = createTestServer(
    (router) => {
      router.get("/v1/name", describeRoute<never>(), () => [200, { name: "wadi" }]);
      router.get("/v1/slow", describeRoute<never>(), async () => {
        reached.resolve();
        await release.promise;
        return [200, { name: "slow" }];
      });
    },
    {},
    [],
    { certificate: FIRST, ...at },
  );
  opened.server.start();
  return { ...opened, reached: reached.promise, release: release.resolve };
}

/** The name in the certificate that new connections are shown. */
function nameCertificate(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(
      { host: hostname, port: Number(port), rejectUnauthorized: false },
      () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      },
    );
    socket.on("error", reject);
  });
}

test("the server speaks HTTPS with its certificate, and nothing else on that port", async () => {
  const { server } = open();
  expect(server.url).toStartWith("https://127.0.0.1:");
  const reply = await fetch(`${server.url}/v1/name`, {
    tls: { ca: localCertificate },
    headers: ASK.headers,
  });
  expect(await reply.json()).toEqual({ name: "wadi" });
  const clear = fetch(`${server.url.replace("https", "http")}/v1/name`).then((r) => r.status);
  expect(await clear.catch(() => "refused")).not.toBe(200);
  await server.stop(0);
});

const onLinux = test.skipIf(process.platform !== "linux");

onLinux("another certificate drops no request, and kept connections end with a reply", async () => {
  const { server, clock, reached, release } = open();
  const kept = await openRaw(server.url);
  kept.write(GET);
  expect((await kept.read())!.headers.connection).not.toBe("close");
  const slow = fetch(`${server.url}/v1/slow`, ASK);
  await reached;
  let isOver = false;
  const failures: unknown[] = [];
  const asked = new Counter();
  const load = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const reply = await fetch(`${server.url}/v1/name`, ASK).catch((failure) => failure);
      if (reply.status !== 200) failures.push(reply);
      asked.add();
    }
  });
  await asked.pass(50);
  expect(await nameCertificate(server.url)).toBe("localhost");
  const { url } = server;
  server.changeCertificate(SECOND);
  expect(server.url).toBe(url);
  expect(await nameCertificate(url)).toBe(certificateName);
  await asked.pass(200);
  kept.write(GET);
  const last = (await kept.read())!;
  expect([last.status, last.headers.connection]).toEqual([200, "close"]);
  await kept.closed;
  // The first listener closes while its last request is still in progress.
  await clock.advance(69_999);
  expect(server.changeCertificate(FIRST)).toBeFalse();
  await clock.advance(1);
  release();
  expect(await (await slow).json()).toEqual({ name: "slow" });
  // A change within the time of the one before waits for it.
  expect(server.changeCertificate(FIRST)).toBeTrue();
  expect(server.changeCertificate(SECOND)).toBeFalse();
  expect(await nameCertificate(url)).toBe("localhost");
  await asked.pass(200);
  await clock.advance(70_000);
  expect(await nameCertificate(url)).toBe(certificateName);
  await asked.pass(200);
  isOver = true;
  await Promise.all(load);
  expect(failures).toEqual([]);
  await server.stop(0);
});

onLinux("a certificate that fails leaves the one before in force, and the log tells", async () => {
  const { server, lines } = open();
  const kept = await openRaw(server.url);
  const nonsense = { cert: "nonsense", key: localCertificateKey };
  expect(server.changeCertificate(nonsense)).toBeFalse();
  expect(lines).toMatchObject([
    { level: "error", message: "http: another certificate failed, the one before stays" },
  ]);
  expect(await nameCertificate(server.url)).toBe("localhost");
  // Its connections are not closed.
  kept.write(GET);
  expect((await kept.read())!.headers.connection).not.toBe("close");
  server.changeCertificate(SECOND);
  expect(await nameCertificate(server.url)).toBe(certificateName);
  await server.stop(0);
});

onLinux("the operators' own address has the same certificate", async () => {
  const { server } = open({ operatorListen: "127.0.0.1:0" });
  const [, operators] = server.addresses;
  const url = `https://127.0.0.1:${operators!.port}`;
  expect(await nameCertificate(url)).toBe("localhost");
  server.changeCertificate(SECOND);
  expect(await nameCertificate(url)).toBe(certificateName);
  expect((await fetch(`${url}/v1/name`, ASK)).status).toBe(404);
  await server.stop(0);
});

onLinux("a certificate that waits does not open the address again after a stop", async () => {
  const { server, clock, lines } = open();
  const { url } = server;
  expect(server.changeCertificate(SECOND)).toBeTrue();
  expect(server.changeCertificate(FIRST)).toBeFalse();
  await server.stop(0);
  await clock.advance(70_000);
  await expect(nameCertificate(url)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  expect(lines.filter(({ level }) => level !== "info")).toEqual([]);
});
