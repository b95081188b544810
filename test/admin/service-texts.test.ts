// The texts of `wadi init --systemd`, `--nginx`, `--caddy` and `--docker`, judged by those programs.
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Deployment } from "../../src/admin/service-texts/deployment.ts";
import { type ServiceTextKind, writeServiceText } from "../../src/admin/service-texts/texts.ts";
import { readSettings } from "../../src/settings/index.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { localCertificate, localCertificateKey } from "../support/certificate.ts";
import { findClosedPort } from "../support/ports.ts";
import { caddy, nginx, systemdAnalyze } from "../support/proxies.ts";

const directory = mkdtempSync(join(tmpdir(), "wadi-texts-"));
afterAll(() => rmSync(directory, { recursive: true }));

const put = (name: string, text: string) => {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
};

const program = put("wadi", "#!/bin/sh\n");
chmodSync(program, 0o755);

function write(kind: ServiceTextKind, toml = "", deployment: Partial<Deployment> = {}): string {
  return writeServiceText(kind, {
    // The texts need no secrets, so files of keys need not exist.
    settings: readSettings(toml, "wadi.toml", {}, {}, { wantsApiKeys: false }),
    program,
    workingDirectory: "/etc/wadi",
    settingsFile: "/etc/wadi/wadi.toml",
    dataDirectory: "/var/lib/wadi",
    namesData: false,
    ...deployment,
  });
}

function judge(command: readonly string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    env: { PATH: process.env.PATH, HOME: directory },
  });
  return { code: exitCode, says: `${stdout}${stderr}` };
}

const CADDY = ["--adapter", "caddyfile", "--config"];

const COMMAND = '[models.upstream.start]\ncommand = ["systemctl", "start", "vllm"]\n';
const STARTED = `[[models]]
id = "m"
[models.upstream]
kind = "openai"
urls = ["http://127.0.0.1:8000/v1"]
${COMMAND}health = "http://127.0.0.1:8000/health"
`;

describe("the systemd unit", () => {
  test("lets the server write to folders outside its data directory", () => {
    const toml =
      '[server]\nsecrets_key_file = "/etc/keys/wadi.key"\n' +
      '[backup]\nevery = "1h"\nto = "/var/backups/wadi"\n';
    const unit = write("systemd", toml);
    for (const folder of ["/var/backups/wadi", "/etc/keys"]) {
      expect(unit).toContain(`\nReadWritePaths=${folder}\n`);
      expect(unit).toContain(`install -d -o wadi -g wadi -m 700 ${folder}\n`);
    }
    expect(write("systemd", '[backup]\nevery = "1h"\n')).not.toContain("ReadWritePaths");
    const atHome = write("systemd", '[backup]\nevery = "1h"\nto = "/home/me/backups"\n');
    expect(atHome).toContain("\nReadWritePaths=/home/me/backups\nProtectSystem=strict\n");
    expect(atHome).toContain("\nProtectHome=read-only\n");
    const key = '[search]\nkind = "searxng"\nurl = "http://127.0.0.1:8888"\napi_key_file = ';
    const withKey = write("systemd", `${key}"/home/me/key"\n`);
    expect(withKey).toContain("\nProtectHome=read-only\n");
    expect(withKey).toContain("#   (let wadi read /home/me/key)\n");
    const installed = { program: "/usr/bin/wadi" };
    expect(write("systemd", "", installed)).toContain("\nPrivateTmp=yes\n");
    expect(write("systemd", "", { ...installed, dataDirectory: "/var/tmp/wadi" })).toContain(
      "\nPrivateTmp=no\n",
    );
    const inside = '[backup]\nevery = "1h"\nto = "/var/lib/wadi/copies"\n';
    expect(write("systemd", inside)).not.toContain("ReadWritePaths");
  });

  test("names the files of the installation, and stops after the server's own timeout", () => {
    const unit = write("systemd", '[server]\nstop_timeout = "2m"\n');
    expect(unit).toContain(`ExecStart=${program} serve --config /etc/wadi/wadi.toml\n`);
    expect(unit).toContain("\nStateDirectory=wadi\n");
    expect(unit).toContain("\nTimeoutStopSec=135\n");
    // What it writes, and the settings, are for its user and root only.
    expect(unit).toContain("\nUMask=0077\n");
    const settings = "/etc/wadi/wadi.toml";
    expect(unit).toContain(`#   chown root:wadi ${settings} && chmod 640 ${settings}\n`);
    // Otherwise systemd would not hear the old process after a failed takeover.
    expect(unit).toContain("\nNotifyAccess=all\n");
    expect(unit).toContain("\nProtectHome=yes\n");
    expect(unit).not.toContain("ReadWritePaths=");
    const elsewhere = write("systemd", "", {
      settingsFile: null,
      dataDirectory: "/home/me/my data",
      namesData: true,
    });
    expect(elsewhere).toContain(`ExecStart=${program} serve --data "/home/me/my data"\n`);
    expect(elsewhere).toContain('\nReadWritePaths="/home/me/my data"\n');
    expect(elsewhere).toContain("\nProtectHome=read-only\n");
    expect(elsewhere).toContain("#   wadi init --systemd --data '/home/me/my data' >");
    expect(elsewhere).toContain("#   install -d -o wadi -g wadi -m 700 '/home/me/my data'\n");
  });

  test("keeps the one capability that a low port needs, and devices for started model servers", () => {
    expect(write("systemd")).toContain("\nCapabilityBoundingSet=\n");
    expect(write("systemd", "[server]\nport = 443\n")).toContain(
      "\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n",
    );
    expect(write("systemd", '[operator]\nlisten = "10.0.0.1:443"\n')).toContain(
      "\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n",
    );
    expect(write("systemd")).toContain("\nPrivateDevices=yes\n");
    expect(write("systemd", STARTED)).toContain("\nPrivateDevices=no\n");
  });

  test.skipIf(!systemdAnalyze)("systemd accepts it, and finds little to expose", () => {
    const odd = { workingDirectory: "/srv/50% off", dataDirectory: "/srv/50% off/$data \\ x" };
    const units = [
      write("systemd"),
      write("systemd", "[server]\nport = 443\n"),
      write("systemd", STARTED),
      write("systemd", "", { ...odd, settingsFile: null, namesData: true }),
    ];
    for (const [at, unit] of units.entries()) {
      const file = put(`wadi-${at}.service`, unit);
      expect(judge([systemdAnalyze!, "verify", "--man=no", file])).toEqual({ code: 0, says: "" });
      // The scale ends at 100, which is a unit without any wall.
      const bounds = ["security", "--offline=true", "--threshold=20", "--no-pager", file];
      expect(judge([systemdAnalyze!, ...bounds])).toMatchObject({ code: 0 });
    }
  });
});

test("a proxy's text names the public host and the settings that the server lacks", () => {
  const lacking = write("nginx");
  expect(lacking).toContain("  server 127.0.0.1:8080;\n");
  expect(lacking).toContain("  server_name wadi.example.com;\n");
  expect(lacking).toContain('#   trusted_proxies = ["127.0.0.1", "::1"]\n');
  const toml = `[server]\nhost = "::"\nport = 9000\npublic_url = "https://ai.acme.com"
trusted_proxies = ["10.0.0.1"]\n`;
  for (const kind of ["nginx", "caddy"] as const) {
    const text = write(kind, toml);
    expect(text).toContain(kind === "nginx" ? "server_name ai.acme.com;" : "\nai.acme.com {\n");
    expect(text).toContain("[::1]:9000");
    expect(text).not.toContain("Settings of [server]");
    expect(() => write(kind, "[server]\nport = 0\n")).toThrow("set server.port");
  }
});

test("a proxy speaks TLS to a server with a certificate", () => {
  const tls = '[server]\ntls = { cert = "c.pem", key = "k.pem" }\n';
  expect(write("nginx", tls)).toContain("    proxy_pass https://wadi;\n");
  const caddyfile = write("caddy", tls);
  expect(caddyfile).toContain("\treverse_proxy https://127.0.0.1:8080 {\n");
  expect(caddyfile).toContain("\t\t\ttls_server_name wadi.example.com\n");
  if (!caddy) return;
  const file = put("Caddyfile.tls", caddyfile);
  expect(judge([caddy, "validate", ...CADDY, file])).toMatchObject({ code: 0 });
});

interface Proxy {
  url: string;
  stop(): Promise<void>;
}

async function run(command: readonly string[], url: string): Promise<Proxy> {
  const child = Bun.spawn([...command], {
    env: { PATH: process.env.PATH, HOME: directory },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const isUp = () =>
    fetch(`${url}/healthz`, TRUSTING).then(
      () => true,
      () => false,
    );
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(await child.stderr.text());
  }
  const stop = async () => {
    child.kill("SIGTERM");
    await child.exited;
  };
  return { url, stop };
}

const TRUSTING = { tls: { ca: localCertificate } };

function writeNginx(app: TestApp, port: number): string {
  const certificate = put("local.pem", localCertificate);
  const key = put("local.key", localCertificateKey);
  const server = write("nginx", `[server]\nport = ${new URL(app.url).port}\n`)
    .replace("listen 443 ssl;", `listen 127.0.0.1:${port} ssl;`)
    .replace("listen [::]:443 ssl;", "")
    .replace(/ssl_certificate .*;/, `ssl_certificate ${certificate};`)
    .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${key};`);
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${directory}/${name};`,
  );
  const main = `daemon off;\nmaster_process off;\npid ${directory}/nginx.pid;\nerror_log stderr;\n`;
  const http = `http {\naccess_log off;\n${paths.join("\n")}\n${server}}\n`;
  return put("nginx.conf", `${main}events {}\n${http}`);
}

function writeCaddy(app: TestApp, port: number): string {
  const text = write("caddy", `[server]\nport = ${new URL(app.url).port}\n`);
  const site = text.replace("wadi.example.com {", `http://127.0.0.1:${port} {`);
  return put("Caddyfile", `{\n\tadmin off\n}\n${site}`);
}

const PROXIES = [
  {
    name: "nginx",
    has: nginx,
    scheme: "https",
    commands(app: TestApp, port: number) {
      const base = [nginx!, "-p", directory, "-e", "stderr", "-c", writeNginx(app, port)];
      return { accept: [...base, "-t"], run: base };
    },
  },
  {
    name: "caddy",
    has: caddy,
    scheme: "http",
    commands(app: TestApp, port: number) {
      const file = writeCaddy(app, port);
      return { accept: [caddy!, "validate", ...CADDY, file], run: [caddy!, "run", ...CADDY, file] };
    },
  },
];

for (const { name, has, scheme, commands } of PROXIES) {
  test.skipIf(!has)(
    `${name} accepts its text, forwards streams, refusals of large bodies and the end of a call`,
    async () => {
      const app = await startApp({
        listens: true,
        settings: '[server]\ntrusted_proxies = ["127.0.0.1"]\n[agents]\nopen = true\n',
      });
      const port = findClosedPort();
      const { accept, run: start } = commands(app, port);
      expect(judge(accept)).toMatchObject({ code: 0 });
      const proxy = await run(start, `${scheme}://127.0.0.1:${port}`);
      const ask = (path: string, init: RequestInit = {}) =>
        fetch(`${proxy.url}${path}`, {
          ...TRUSTING,
          ...init,
          headers: { authorization: "Bearer svc_sk_test", "content-type": "application/json" },
        });
      const chat = (content: string, signal?: AbortSignal) => {
        const body = { stream: true, messages: [{ role: "user", content }] };
        return ask("/v1/chat/completions", { method: "POST", body: JSON.stringify(body), signal });
      };
      try {
        // The stream never ends, so a proxy that collects it would show nothing.
        const leaving = new AbortController();
        const stream = await chat("!say One two three\n!stall", leaving.signal);
        const reader = stream.body!.getReader();
        let text = "";
        while (!text.includes("One")) {
          text += new TextDecoder().decode((await reader.read()).value);
        }
        // The server notices through the proxy that the caller has left.
        const left = app.logged("client_closed_request");
        leaving.abort();
        await left;

        const content = "x".repeat(2_000_000);
        const body = JSON.stringify({ messages: [{ role: "user", content }] });
        const send = () => ask("/v1/chat/completions", { method: "POST", body });
        let large = await send();
        // A proxy that still writes when the connection ends may not read the refusal.
        for (let more = 40; more > 0 && large.status === 502; more--) large = await send();
        expect(large.status).toBe(413);
        expect(await large.json()).toMatchObject({ error: { type: expect.any(String) } });

        // The operator API answers no request that a proxy forwards.
        expect((await ask("/operator/v1/status")).status).toBe(404);
      } finally {
        await proxy.stop();
        await app.stop();
      }
    },
    60_000,
  );
}

describe("the Dockerfile", () => {
  const text = write("docker", '[server]\nport = 9000\nstop_timeout = "1m"\n');
  const read = (instruction: string) =>
    new RegExp(`^${instruction} (.+)$`, "m").exec(text)?.[1] ?? "";

  test("runs the program as a user without rights, with a volume and an entry point", () => {
    expect(read("USER")).toBe("10001:10001");
    expect(read("RUN")).toContain("--uid 10001");
    expect(JSON.parse(read("ENTRYPOINT"))).toEqual(["/usr/local/bin/wadi"]);
    expect(JSON.parse(read("CMD"))).toEqual(["serve"]);
    expect(JSON.parse(read("COPY"))).toEqual(["wadi", "/usr/local/bin/wadi"]);
    expect(text).toContain('\nCOPY --chown=10001 ["wadi.toml", "/etc/wadi/wadi.toml"]\n');
    expect([read("VOLUME"), read("EXPOSE")]).toEqual(["/var/lib/wadi", "9000"]);
    expect(text).toContain("--stop-timeout 75 ");
    // Only a proxy on the machine reaches the port.
    expect(text).toContain(" -p 127.0.0.1:9000:9000 ");
  });

  test("mounts files and folders where the settings name them", () => {
    const toml = `[server]
secrets_key_file = "keys/wadi.key"
tls = { cert = "tls/cert.pem", key = "/etc/ssl/$my key.pem" }
[backup]
to = "/srv/backups"
[search]
kind = "searxng"
url = "http://127.0.0.1:8888"
api_key_file = "/etc/ssl/search"
`;
    const at = { workingDirectory: "/srv/wadi" };
    const text = write("docker", toml, at);
    const secret = '[server]\nmetrics_token_env = "TOKEN"\n';
    expect(write("docker", secret)).toContain(" -e TOKEN wadi\n");
    const quoted = write("docker", "", { program: '/opt/a "b"' });
    expect(quoted).toContain('COPY ["a \\"b\\"", "/usr/local/bin/wadi"]');
    expect(text.match(/-v (?:'.+?'|\S+)/g)).toEqual([
      "-v wadi:/var/lib/wadi",
      "-v /srv/wadi/tls/cert.pem:/etc/wadi/tls/cert.pem:ro",
      "-v '/etc/ssl/$my key.pem:/etc/ssl/$my key.pem:ro'",
      "-v /etc/ssl/search:/etc/ssl/search:ro",
      "-v /srv/backups:/srv/backups",
      "-v /srv/wadi/keys:/etc/wadi/keys",
    ]);
    expect(text).toContain("# User 10001 needs its rights on what is mounted.\n");
    const beside = '[server]\nsecrets_key_file = "wadi.key"\n';
    expect(() => write("docker", beside, at)).toThrow("a folder of its own for keys");
  });

  test("sets only settings that exist", () => {
    const pairs = [...text.matchAll(/(WADI_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]);
    const { server } = readSettings("", "wadi.toml", Object.fromEntries(pairs), {});
    expect([server.host, server.port, server.data]).toEqual(["0.0.0.0", 9000, "/var/lib/wadi"]);
  });
});
