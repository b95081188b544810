// The meaning of HTML's elements for a text: hidden ones, blocks, and parts beside the content.

const LEFT_OUT = new Set(
  (
    "script style noscript template noframes noembed svg annotation iframe object embed canvas " +
    "audio video map progress meter select datalist textarea"
  ).split(" "),
);

const BLOCKS = new Map<string, 1 | 2>([
  ...listBlocks(
    2,
    "p h1 h2 h3 h4 h5 h6 blockquote pre table figure hr article section main nav aside header " +
      "footer hgroup search ul ol menu dir dl",
  ),
  ...listBlocks(
    1,
    "div li dt dd tr caption address body center details summary dialog fieldset legend " +
      "figcaption form br",
  ),
]);

function listBlocks(breaks: 1 | 2, names: string): [string, 1 | 2][] {
  return names.split(" ").map((name) => [name, breaks]);
}

export const LISTS: ReadonlySet<string> = new Set(["ul", "ol", "menu", "dir"]);

export const HEADINGS: ReadonlyMap<string, number> = new Map(
  [1, 2, 3, 4, 5, 6].map((level) => [`h${level}`, level]),
);

/** Parts of a page; a higher number is more of its content. */
export const ZONES = { side: 0, body: 1, article: 2, main: 3 } as const;
export type Zone = (typeof ZONES)[keyof typeof ZONES];

const SIDES = new Set(["nav", "aside", "search"]);
const MARGINS = new Set(["header", "footer"]);
const SIDE_ROLES = new Set(["navigation", "complementary", "search", "banner", "contentinfo"]);

const ATTRIBUTES = [
  "alt",
  "aria-hidden",
  "hidden",
  "href",
  "open",
  "role",
  "start",
  "style",
] as const;
type AttributeName = (typeof ATTRIBUTES)[number];
const ATTRIBUTE_NAMES: ReadonlySet<string> = new Set(ATTRIBUTES);

export type Attributes = Partial<Record<AttributeName, string>>;

export function isAttribute(name: string): name is AttributeName {
  return ATTRIBUTE_NAMES.has(name);
}

export function breakOf(name: string): 0 | 1 | 2 {
  return BLOCKS.get(name) ?? 0;
}

const STYLE_CHARACTERS_MAX = 2_000;
const HIDING = [
  /(?:^|[;\s])display\s{0,9}:\s{0,9}none/i,
  /(?:^|[;\s])visibility\s{0,9}:\s{0,9}hidden/i,
  /(?:^|[;\s])font-size\s{0,9}:\s{0,9}0(?![.\d]{0,9}[1-9])/i,
];

/**
 * Tests if an element is hidden by its own attributes, as text to instruct models often is. Style
 * sheets are not read.
 */
export function isHidden(name: string, attributes: Attributes): boolean {
  if (LEFT_OUT.has(name)) return true;
  // Many pages are hidden until their script has run.
  if (name === "html" || name === "body") return false;
  const { hidden, style } = attributes;
  if (hidden !== undefined && hidden.toLowerCase() !== "until-found") return true;
  if (attributes["aria-hidden"]?.trim().toLowerCase() === "true") return true;
  if (name === "dialog" && attributes.open === undefined) return true;
  const rules = style?.slice(0, STYLE_CHARACTERS_MAX);
  return rules !== undefined && HIDING.some((pattern) => pattern.test(rules));
}

export function zoneOf(name: string, role: string | undefined, outer: Zone): Zone {
  const word = role?.trim().toLowerCase();
  if (name === "main" || word === "main") return ZONES.main;
  if (SIDES.has(name) || (word !== undefined && SIDE_ROLES.has(word))) return ZONES.side;
  if (MARGINS.has(name) && outer === ZONES.body) return ZONES.side;
  return name === "article" && outer === ZONES.body ? ZONES.article : outer;
}
