// SHA-256 sums of a release's files, in the format of `sha256sum --check`.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

export const SUMS = "SHA256SUMS";

export const formatSums = (sums: Record<string, string>): string =>
  Object.keys(sums)
    .sort()
    .map((name) => `${sums[name]}  ${name}\n`)
    .join("");

/** Writes the sums of all files of a folder, and returns them by name. */
export const writeSums = async (folder: string): Promise<Record<string, string>> => {
  const sums: Record<string, string> = {};
  for (const name of new Bun.Glob("**/*").scanSync({ cwd: folder })) {
    if (name === SUMS) continue;
    const hash = new Bun.CryptoHasher("sha256");
    for await (const chunk of Bun.file(join(folder, name)).stream()) hash.update(chunk);
    sums[name] = hash.digest("hex");
  }
  writeFileSync(join(folder, SUMS), formatSums(sums));
  return sums;
};

/** Names of files that are in one of two builds only, or differ. */
export const findDifferences = (
  first: Record<string, string>,
  second: Record<string, string>,
): string[] =>
  [...new Set([...Object.keys(first), ...Object.keys(second)])]
    .filter((name) => first[name] !== second[name])
    .sort();
