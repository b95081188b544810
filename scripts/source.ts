// Takes a source text apart into code, comments and strings, for rules that mean only one of them.

/**
 * Three texts as long as the source and with its line breaks, each blank where the others speak;
 * the quotes of a string stand in the code, its content does not.
 */
export interface Layers {
  code: string;
  comments: string;
  strings: string;
}

// One piece: a comment, a whole string, the start of a template, a brace, a slash, or plain text.
const piece =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[`{}/"']|[^`{}/"']+/y;
const templateText = /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*/y;
const regexText = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\//y;

// A slash after one of these begins a regular expression; after anything else it divides.
const beforeRegex = /(?:^|[=(,:;[!&|?{}+\-*%<>~^]|\b(?:return|case|typeof|in|of|await|yield))\s*$/;

export const readLayers = (text: string): Layers => {
  const layers: Layers = { code: "", comments: "", strings: "" };
  const add = (to: keyof Layers, part: string) => {
    const blank = part.replace(/[^\n]/g, " ");
    for (const layer of ["code", "comments", "strings"] as const) {
      layers[layer] += layer === to ? part : blank;
    }
  };
  let at = 0;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const part = pattern.exec(text)?.[0] ?? "";
    at += part.length;
    return part;
  };
  const addQuoted = (part: string) => {
    add("code", part.slice(0, 1));
    add("strings", part.slice(1, -1));
    add("code", part.slice(-1));
  };
  const addTemplate = () => {
    add("strings", take(templateText));
    const open = text.startsWith("${", at) ? "${" : "`";
    at += open.length;
    add("code", open);
    // Back in code until the brace that closes what was opened here.
    if (open === "${") braces.push(0);
  };

  // How deep in braces each open `${` of a template stands.
  const braces: number[] = [];
  while (at < text.length) {
    const part = take(piece);
    if (/^\/[/*]/.test(part)) add("comments", part);
    else if (part.length > 1 && /^["']/.test(part)) addQuoted(part);
    else if (part === "/" && beforeRegex.test(layers.code)) {
      at -= 1;
      const regex = take(regexText);
      if (regex) addQuoted(regex);
      else add("code", text.charAt(at++));
    } else {
      add("code", part);
      const depth = braces.at(-1);
      if (part === "`") addTemplate();
      else if (part === "{" && depth !== undefined) braces[braces.length - 1] = depth + 1;
      else if (part === "}" && depth === 0) {
        braces.pop();
        addTemplate();
      } else if (part === "}" && depth !== undefined) braces[braces.length - 1] = depth - 1;
    }
  }
  return layers;
};

/** The line of a position, counted from 1. */
export const lineAt = (text: string, position: number): number =>
  text.slice(0, position).split("\n").length;
