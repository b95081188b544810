// Makes the texts of the console short: their ids are words in its source, and numbers in the page.
import { join } from "node:path";

/** Shortens the source of one module. */
export type Shortener = (source: string) => string;

/** A table of English texts: what stands before its entries, and the entries. */
const TABLE = /(export const \w+ = \{\n)(?= {2}"[a-z_]+\.)([\s\S]*?)(?=^\} as const;)/m;
/** A quoted text that looks like an id, also as the value of an attribute. */
const ID = /(=?)"([a-z_]+\.[\w.]+)"/g;
const COMPOSED = /`([a-z_]+\.[a-z_.]*)\$\{[^`}]*\}([a-z_.]*)`/g;

const splitEntries = (table: string) => table.split(/^ {2}(?="?[a-z_])/m).slice(1);
const readId = (entry: string) => /^"?([\w.]+)"?:\s*/.exec(entry)!;

/**
 * Numbers count up through each table, so that the page has lists in their place. Ids that the
 * source composes, such as `models.act.${verb}`, stay words.
 */
export async function createShortener(client: string): Promise<Shortener> {
  const paths = [...new Bun.Glob("**/*.{ts,tsx}").scanSync({ cwd: client })].toSorted();
  const sources = await Promise.all(paths.map((path) => Bun.file(join(client, path)).text()));
  const composed = sources.flatMap((source) => [...source.matchAll(COMPOSED)]);
  const forms = composed.map(([, before, after]) => new RegExp(`^${before}[\\w.]+${after}$`));
  const entries = sources.flatMap((source) => splitEntries(TABLE.exec(source)?.[2] ?? ""));
  const ids = entries
    .map((entry) => readId(entry)[1]!)
    .filter((id) => id.includes(".") && !forms.some((form) => form.test(id)));
  // From 1: a page may ask if there is a text.
  const numbers = new Map([...new Set(ids)].map((id, at) => [id, at + 1]));

  const writeTable = (_: string, begin: string, table: string) => {
    const numbered: [number: number, text: string][] = [];
    const named: string[] = [];
    for (const entry of splitEntries(table)) {
      const [key, id] = readId(entry);
      const number = numbers.get(id!);
      if (number === undefined) named.push(entry);
      else numbered.push([number, entry.slice(key.length)]);
    }
    const [[first] = [0]] = numbered;
    if (numbered.some(([number], at) => number !== first + at)) throw new Error("A text is twice.");
    const list = numbered.map(([, text]) => text).join("");
    // The empty places before the list are no texts of the table.
    return `${begin}...Array(${first}).concat([${list}]),${named.join("")}`;
  };
  return (source) =>
    source.replace(TABLE, writeTable).replace(ID, (quoted, sign, id) => {
      const number = numbers.get(id);
      if (number === undefined) return quoted;
      return sign === "" ? String(number) : `={${number}}`;
    });
}
