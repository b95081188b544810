// Slugs that are made from names, and the names that follow where one is taken.

/** agents.resources.agent */
const CHARACTERS_MAX = 64;
/** What a name without a letter or digit of the alphabet becomes. */
const NAMELESS = "agent";

/** `Café № 7` is `cafe-no-7`. */
export function makeSlug(name: string): string {
  const plain = name
    // Compatible letters first, so that marks and ligatures come apart.
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
  return cut(plain.startsWith("-") ? plain.slice(1) : plain, CHARACTERS_MAX) || NAMELESS;
}

/** The slug with a number behind it, no longer than slugs are; 1 is the slug alone. */
export function numberSlug(slug: string, number: number): string {
  if (number === 1) return slug;
  const end = `-${number}`;
  return cut(slug, CHARACTERS_MAX - end.length) + end;
}

function cut(text: string, characters: number): string {
  const start = text.slice(0, characters);
  return start.endsWith("-") ? start.slice(0, -1) : start;
}
