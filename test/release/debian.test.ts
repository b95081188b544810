// Content of the Debian package.
import { expect, test } from "bun:test";
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
