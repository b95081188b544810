// The Debian package: executable, systemd unit, user and settings file.

import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { writeSystemdUnit } from "../../src/admin/service-texts/systemd.ts";
import { readSettings, writeTemplate } from "../../src/settings/index.ts";
import { root } from "../build.ts";
import { run } from "./run.ts";
import { fileName, type Target, version } from "./targets.ts";

export const STATE = "/var/lib/wadi";
const SETTINGS = "/etc/wadi/wadi.toml";
const PROGRAM = "usr/bin/wadi";

const architectures: Record<Target["cpu"], string> = { x64: "amd64", arm64: "arm64" };

export const debName = (target: Target): string =>
  `wadi_${version}_${architectures[target.cpu]}.deb`;

export const hasDeb = (target: Target): boolean => target.libc === "glibc";

interface PackedFile {
  text: string;
  mode: number;
}

/** Everything but the executable, by path in the package. */
export const debFiles = (target: Target, programBytes: number): Record<string, PackedFile> => {
  const script = (name: string) => ({ text: readPart(name), mode: 0o755 });
  const text = (content: string, mode = 0o644) => ({ text: content, mode });
  return {
    "DEBIAN/control": text(control(target, programBytes)),
    "DEBIAN/conffiles": text(`${SETTINGS}\n`),
    "DEBIAN/postinst": script("postinst"),
    "DEBIAN/prerm": script("prerm"),
    "etc/wadi/wadi.toml": text(settings(), 0o640),
    "usr/lib/systemd/system/wadi.service": text(unit()),
    "usr/lib/sysusers.d/wadi.conf": text(`u wadi - "Wadi" ${STATE}\n`),
    "usr/share/doc/wadi/copyright": text(readFileSync(join(root, "LICENSE"), "utf8")),
  };
};

const readPart = (name: string): string =>
  readFileSync(join(import.meta.dir, "debian", name), "utf8");

/** The template of `wadi init`, with the data in the state directory of the unit. */
const settings = (): string => writeTemplate().replace(/^#data = .*$/m, `data = "${STATE}"`);

/** The unit of `wadi init --systemd`, without the steps that the package has made. */
const unit = (): string => {
  const text = writeSystemdUnit({
    settings: readSettings(settings(), SETTINGS, {}, {}),
    ...{ settingsFile: SETTINGS, program: `/${PROGRAM}` },
    ...{ workingDirectory: STATE, dataDirectory: STATE, namesData: false },
  });
  return text.slice(text.indexOf("[Unit]"));
};

const control = (target: Target, programBytes: number): string =>
  [
    "Package: wadi",
    // A tilde sorts before the end, so that a candidate comes before its release.
    `Version: ${version.replace("-", "~")}`,
    `Architecture: ${architectures[target.cpu]}`,
    "Maintainer: The Wadi authors <wadi@localhost>",
    `Installed-Size: ${Math.ceil(programBytes / 1024)}`,
    "Depends: libc6 (>= 2.17), systemd | adduser",
    "Section: net",
    "Priority: optional",
    `Description: ${manifest.description}`,
    "",
  ].join("\n");

/** Writes the package of a release's executable; the same commit makes the same bytes. */
export const packDeb = async (folder: string, target: Target, epoch: string): Promise<void> => {
  const program = join(folder, fileName(target));
  const staged = join(folder, "deb");
  const place = (path: string, mode: number, write: (file: string) => void) => {
    const file = join(staged, path);
    mkdirSync(dirname(file), { recursive: true });
    write(file);
    chmodSync(file, mode);
  };
  try {
    place(PROGRAM, 0o755, (file) => cpSync(program, file));
    const files = debFiles(target, statSync(program).size);
    for (const [path, { text, mode }] of Object.entries(files)) {
      place(path, mode, (file) => writeFileSync(file, text));
    }
    // Compression by xz takes a minute of CPU for 8 MB less.
    const packing = ["-Zgzip", "--root-owner-group"];
    await run(["dpkg-deb", ...packing, "--build", staged, join(folder, debName(target))], {
      env: { SOURCE_DATE_EPOCH: epoch },
    });
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
};
