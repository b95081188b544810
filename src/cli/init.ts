// `wadi init`: a wadi.toml to begin with, in which every setting stands with its default.
import { createSettingsFile } from "../operator/index.ts";
import type { Output } from "./output.ts";
import { FILE } from "./settings.ts";
import { type Given, readText } from "./verb.ts";

export async function initSettings(given: Given, output: Output): Promise<number> {
  const file = given.args[0] ?? readText(given, "config") ?? FILE;
  createSettingsFile(file);
  const also = file === FILE ? "" : ` --config ${file}`;
  output.say(`it holds as it is; \`wadi models probe URL --write${also}\` adds a model of yours`);
  output.print({ file }, `${file}\n`);
  return 0;
}
