// Files that flags name, whole and up to a maximum.
import { type JsonObject, readObject } from "../platform/json.ts";
import { type CommandInput, readText, UsageError } from "./command.ts";
import { readBytes } from "./standard-input.ts";

const TEXT_BYTES_MAX = 262_144;

/** Reads an object from the file that a flag names. */
export async function readJsonFile(
  input: CommandInput,
  flag: string,
): Promise<JsonObject | undefined> {
  const text = await readTextFile(input, flag);
  if (text === undefined) return undefined;
  try {
    return readObject(JSON.parse(text));
  } catch (error) {
    throw new UsageError(`the file of --${flag} is no JSON: ${(error as Error).message}`);
  }
}

export async function readTextFile(input: CommandInput, flag: string): Promise<string | undefined> {
  const path = readText(input, flag);
  return path === undefined ? undefined : (await readFile(flag, path, TEXT_BYTES_MAX)).toString();
}

/** Reads a file that was named with a flag. */
export async function readFile(flag: string, path: string, bytesMax: number): Promise<Buffer> {
  try {
    return await readBytes(Bun.file(path).stream(), bytesMax, `the file of --${flag}`);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--${flag} ${path}: ${(error as Error).message}`);
  }
}
