// What the elements of HTML mean for a text: which are left out, which begin a line, which are
// beside the matter.

/** What nobody reads, or what stands for something that cannot be shown. */
const LEFT_OUT = new Set([
  ...["script", "style", "noscript", "template", "noframes", "noembed", "svg", "annotation"],
  ...["iframe", "object", "embed", "canvas", "audio", "video", "map", "progress", "meter"],
  ...["select", "datalist", "textarea"],
]);

/** How many line ends stand around a block at least: a list is none inside another. */
const BLOCKS = new Map<string, 1 | 2>([
  ...["p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "table", "figure", "hr"].map(
    (name) => [name, 2] as const,
  ),
  ...["article", "section", "main", "nav", "aside", "header", "footer", "hgroup", "search"].map(
    (name) => [name, 2] as const,
  ),
  ...["ul", "ol", "menu", "dir", "dl"].map((name) => [name, 2] as const),
  ...["div", "li", "dt", "dd", "tr", "caption", "address", "body", "center", "details"].map(
    (name) => [name, 1] as const,
  ),
  ...["summary", "dialog", "fieldset", "legend", "figcaption", "form", "br"].map(
    (name) => [name, 1] as const,
  ),
]);

export const LISTS: ReadonlySet<string> = new Set(["ul", "ol", "menu", "dir"]);

/** 1 to 6; undefined: the element is no heading. */
export const HEADINGS: ReadonlyMap<string, number> = new Map(
  [1, 2, 3, 4, 5, 6].map((level) => [`h${level}`, level]),
);

/** Where a text stands on its page; what is further up is more of what the page is for. */
export const ZONES = { side: 0, body: 1, article: 2, main: 3 } as const;
export type Zone = (typeof ZONES)[keyof typeof ZONES];

const SIDES = new Set(["nav", "aside", "search"]);
/** Of the page they are beside the matter; of an article they belong to it. */
const MARGINS = new Set(["header", "footer"]);
const SIDE_ROLES = new Set(["navigation", "complementary", "search", "banner", "contentinfo"]);

/** The attributes that matter here, each as its first value; left out: the element has it not. */
export interface Attributes {
  alt?: string;
  "aria-hidden"?: string;
  hidden?: string;
  href?: string;
  open?: string;
  role?: string;
  start?: string;
  style?: string;
}

const NAMES: readonly (keyof Attributes)[] = [
  "alt",
  "aria-hidden",
  "hidden",
  "href",
  "open",
  "role",
  "start",
  "style",
];
const ATTRIBUTES: ReadonlySet<string> = new Set(NAMES);

export function isAttribute(name: string): name is keyof Attributes {
  return ATTRIBUTES.has(name);
}

/** The line ends around an element; 0: it stands inside a line. */
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
 * true: a reader sees nothing of it, by its own attributes. Such text is written for machines, and
 * is a favourite place of words that want to be obeyed. Style sheets are not looked at.
 */
export function isHidden(name: string, attributes: Attributes): boolean {
  if (LEFT_OUT.has(name)) return true;
  // Many a script shows the whole page only once it has run.
  if (name === "html" || name === "body") return false;
  const { hidden, style } = attributes;
  if (hidden !== undefined && hidden.toLowerCase() !== "until-found") return true;
  if (attributes["aria-hidden"]?.trim().toLowerCase() === "true") return true;
  if (name === "dialog" && attributes.open === undefined) return true;
  const rules = style?.slice(0, STYLE_CHARACTERS_MAX);
  return rules !== undefined && HIDING.some((pattern) => pattern.test(rules));
}

/** Where the inside of an element stands, by where the element itself does. */
export function zoneOf(name: string, role: string | undefined, deps: Zone): Zone {
  const word = role?.trim().toLowerCase();
  if (name === "main" || word === "main") return ZONES.main;
  if (SIDES.has(name) || (word !== undefined && SIDE_ROLES.has(word))) return ZONES.side;
  if (MARGINS.has(name) && deps === ZONES.body) return ZONES.side;
  return name === "article" && deps === ZONES.body ? ZONES.article : deps;
}
