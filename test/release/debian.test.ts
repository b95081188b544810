// Content of the Debian package.
import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { debFiles, debName, hasDeb, STATE } from "../../scripts/release/debian.ts";
import { TARGETS, version } from "../../scripts/release/targets.ts";

const arm = TARGETS.find(({ name }) => name === "linux-arm64")!;
const files = debFiles(arm, 125_000_000);

test("Linux with glibc has Debian packages, named as Debian names processors", () => {
  expect(TARGETS.filter(hasDeb).map(debName)).toEqual([
    `wadi_${version}_amd64.deb`,
    `wadi_${version}_arm64.deb`,
  ]);
});

test("control names the processor, the size in KB and the oldest C library", () => {
  const control = files["DEBIAN/control"]!.text;
  expect(control).toContain("Architecture: arm64\n");
  expect(control).toContain("Installed-Size: 122071\n");
  expect(control).toContain("Depends: libc6 (>= 2.17)");
});

test("the settings file is a conffile that others cannot read, with data in the state folder", () => {
  const { text, mode } = files["etc/wadi/wadi.toml"]!;
  expect(files["DEBIAN/conffiles"]!.text).toBe("/etc/wadi/wadi.toml\n");
  expect(mode).toBe(0o640);
  expect(Bun.TOML.parse(text)).toMatchObject({ server: { data: STATE } });
});

test("the unit runs the packaged executable with the packaged settings, as the package's user", () => {
  const unit = files["usr/lib/systemd/system/wadi.service"]!.text;
  expect(unit).toContain("ExecStart=/usr/bin/wadi serve --config /etc/wadi/wadi.toml\n");
  expect(unit).toContain("User=wadi\n");
  expect(unit).toContain(`StateDirectory=${STATE.replace("/var/lib/", "")}\n`);
  expect(files["usr/lib/sysusers.d/wadi.conf"]!.text).toStartWith("u wadi ");
});

test("the package's scripts are executable", () => {
  expect(files["DEBIAN/postinst"]!.mode & 0o111).toBe(0o111);
  expect(files["DEBIAN/prerm"]!.mode & 0o111).toBe(0o111);
});

const directory = mkdtempSync(join(tmpdir(), "wadi-postinst-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** Runs the postinst with programs that note their calls; returns these and what it prints. */
function configure(before: string, { isActive = true, upgrades = true } = {}) {
  const calls = join(directory, "calls");
  writeFileSync(calls, "");
  const put = (name: string, text: string) => {
    writeFileSync(join(directory, name), `#!/bin/sh\necho "${name} $*" >> ${calls}\n${text}`);
    chmodSync(join(directory, name), 0o755);
  };
  for (const name of ["systemd-sysusers", "chown"]) put(name, "");
  put("systemctl", isActive ? "" : '[ "$2" != is-active ]');
  put("wadi", upgrades ? "" : "echo reason >&2; exit 1");
  const script = files["DEBIAN/postinst"]!.text.replaceAll(
    "/run/systemd/system",
    directory,
  ).replaceAll("/var/lib/wadi", directory);
  const { exitCode, stderr } = Bun.spawnSync(
    ["sh", "-c", script, "postinst", "configure", before],
    {
      env: { PATH: `${directory}:${process.env.PATH}` },
    },
  );
  expect(exitCode).toBe(0);
  const made = readFileSync(calls, "utf8").split("\n");
  return { made: made.filter((call) => /^wadi|restart/.test(call)), says: stderr.toString() };
}

const UPGRADE = "wadi upgrade --config /etc/wadi/wadi.toml";

test.if(process.platform !== "win32")("an upgrade of the package replaces an active server", () => {
  expect(configure("0.1.0")).toEqual({ made: [UPGRADE], says: "" });
  expect(configure("0.1.0", { isActive: false }).made).toEqual([]);
  expect(configure("").made).toEqual([]);
});

test.if(process.platform !== "win32")("a server that cannot be replaced is restarted", () => {
  const { made, says } = configure("0.1.0", { upgrades: false });
  expect(made).toEqual([UPGRADE, "systemctl try-restart wadi.service"]);
  expect(says).toContain("reason\nwadi: the running server could not start this version");
});
