// The compiled server speaks HTTPS, and takes over another certificate on SIGHUP under load.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { openRoom, type Room } from "../support/binary.ts";
import {
  certificate,
  certificateKey,
  certificateName,
  localCertificate,
  localCertificateKey,
} from "../support/certificate.ts";
import { Counter } from "../support/counter.ts";

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

const put = (name: string, text: string) => writeFileSync(join(room.directory, name), text);

function readName(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const options = { host: hostname, port: Number(port), rejectUnauthorized: false };
    const socket = connect(options, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

test.skipIf(process.platform !== "linux")(
  "a renewed certificate is shown to new connections, and neither requests nor streams are dropped",
  async () => {
    put("cert.pem", localCertificate);
    put("key.pem", localCertificateKey);
    put("wadi.toml", '[server]\ntls = { cert = "cert.pem", key = "key.pem" }\n');
    const server = await room.serve(["serve", "--port", "0"]);
    expect(server.url).toStartWith("https://127.0.0.1:");
    expect(server.banner.join("\n")).toContain(`address   ${server.url}/v1`);
    expect(await readName(server.url)).toBe("localhost");

    const send = (path: string, body?: object) =>
      fetch(`${server.url}${path}`, {
        method: body ? "POST" : "GET",
        headers: { authorization: `Bearer ${server.key}`, "content-type": "application/json" },
        body: body && JSON.stringify(body),
        tls: { rejectUnauthorized: false },
      });
    const stream = await send("/v1/chat/completions", {
      stream: true,
      messages: [{ role: "user", content: "!say One two\n!delay 2s" }],
    });
    let isOver = false;
    const asked = new Counter();
    const failures: string[] = [];
    const load = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const status = await send("/healthz").then((reply) => reply.status, String);
        if (status !== 200) failures.push(String(status));
        asked.add();
      }
    });
    await asked.pass(50);
    put("cert.pem", certificate);
    server.signal("SIGHUP");
    const refused = await server.logged("settings: refused, the old ones stay");
    expect(refused).toContain("server.tls.key is not the key of server.tls.cert");
    expect(await readName(server.url)).toBe("localhost");

    put("key.pem", certificateKey);
    server.signal("SIGHUP");
    const line = await server.logged("settings: reloaded");
    expect(JSON.parse(line).what).toBe("the certificate of the server");
    expect(await readName(server.url)).toBe(certificateName);
    await asked.pass(200);
    // A change soon after waits for the end of this one, and is not reported as done.
    put("cert.pem", localCertificate);
    put("key.pem", localCertificateKey);
    const waits = "http: another certificate waits";
    for (let n = 1; n <= 2; n++) {
      server.signal("SIGHUP");
      while (server.countLogged(waits) < n) await asked.pass(1);
    }
    expect(await readName(server.url)).toBe(certificateName);
    expect(server.countLogged("the certificate of the server")).toBe(1);
    expect(server.countLogged("nothing has changed")).toBe(0);
    isOver = true;
    await Promise.all(load);
    expect(failures).toEqual([]);
    expect(await stream.text()).toEndWith("data: [DONE]\n\n");
    server.signal("SIGTERM");
    expect(await server.exited).toBe(0);
  },
  60_000,
);

test("a certificate that cannot be used is named by a check and refuses the start", async () => {
  put("bad.toml", '[server]\ntls = { cert = "none.pem", key = "key.pem" }\n');
  const message = "server.tls.cert names a file that cannot be read";
  const checked = await room.perform(["check", "--config", "bad.toml"]);
  expect(checked).toMatchObject({ code: 1, stdout: expect.stringContaining(message) });
  const started = await room.run(["serve", "--config", "bad.toml"]);
  expect(started).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
});
