// The base texts of the tests of invalid settings, and the error of each.
import { readSettings, SettingsError } from "../../src/settings/index.ts";

export type Env = Record<string, string>;

/** The error of a text; throws if it is accepted or something else breaks. */
export function refusalOf(text: string, env: Env = {}, flags: Record<string, unknown> = {}) {
  try {
    readSettings(text, "wadi.toml", env, flags);
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
  throw new Error("the text was accepted");
}

export const STUB = '[[models]]\nid = "a"\nupstream = { kind = "stub" }\n';

/** A stub model with a further line, which is line 4. */
export const model = (line: string) => STUB + line;

const OPENAI = '[[models]]\nid = "a"\n[models.upstream]\nkind = "openai"\nurls = ["http://h/v1"]\n';

/** An openai upstream with a further line, which is line 6. */
export const upstream = (line: string) => OPENAI + line;

/** An openai upstream with other urls, on line 5. */
export const urls = (value: string) => OPENAI.replace('["http://h/v1"]', value);
