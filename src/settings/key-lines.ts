// Finds the line of every key in a TOML text, since the parser, its judge, keeps no positions.

/** A hostile text may nest without end; nothing of the table lies deeper. */
const DEPTH_MAX = 16;

const SPACE_AND_COMMENTS = /(?:\s|#[^\n]*)*/y;
const BLANK = /[ \t]*/y;
const KEY = /[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y;
const SCALAR = /[^,\]}#\n]*/y;
const REST_OF_LINE = /[^\n]*/y;

export interface KeyLine {
  /** Such as `server.port` or `models[0].upstream.urls[1]`. */
  path: string;
  line: number;
}

/** Every key and list element in the order of the text, also of a text that is not quite TOML. */
export function findKeyLines(text: string): KeyLine[] {
  return new KeyScanner(text).scan();
}

/** The path of a key inside `parent`; a name that is no bare key is quoted, as in the file. */
export function joinPath(parent: string, name: string): string {
  const shown = /^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name);
  return parent === "" ? shown : `${parent}.${shown}`;
}

class KeyScanner {
  readonly #text: string;
  readonly #found: KeyLine[] = [];
  /** How many tables each list of tables (`[[models]]`) has so far. */
  readonly #lengths = new Map<string, number>();
  #at = 0;
  #line = 1;
  #countedTo = 0;
  #table = "";

  constructor(text: string) {
    this.#text = text;
  }

  scan(): KeyLine[] {
    this.#take(SPACE_AND_COMMENTS);
    while (this.#at < this.#text.length) {
      if (this.#text[this.#at] === "[") this.#takeHeader();
      else this.#takePair(this.#table, 0);
      this.#take(REST_OF_LINE);
      this.#take(SPACE_AND_COMMENTS);
    }
    return this.#found;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const taken = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += taken.length;
    return taken;
  }

  #takeMark(mark: string): boolean {
    const isHere = this.#text.startsWith(mark, this.#at);
    if (isHere) this.#at += mark.length;
    return isHere;
  }

  #note(path: string, at = this.#at): string {
    for (; this.#countedTo < at; this.#countedTo++) {
      if (this.#text[this.#countedTo] === "\n") this.#line++;
    }
    this.#found.push({ path, line: this.#line });
    return path;
  }

  /** A dotted key with each of its parts; of a list of tables the last one is meant. */
  #takePath(parent: string): string | undefined {
    let path = parent;
    for (let depth = 0; depth < DEPTH_MAX; depth++) {
      this.#take(BLANK);
      const start = this.#at;
      const key = this.#take(KEY);
      if (key === "") return undefined;
      const length = this.#lengths.get(path);
      if (length !== undefined) path = `${path}[${length - 1}]`;
      path = this.#note(joinPath(path, unquote(key)), start);
      this.#take(BLANK);
      if (!this.#takeMark(".")) return path;
    }
    return undefined;
  }

  #takeHeader() {
    const isList = this.#takeMark("[[");
    if (!isList) this.#takeMark("[");
    const path = this.#takePath("") ?? "";
    this.#table = path;
    if (!isList || path === "") return;
    const index = this.#lengths.get(path) ?? 0;
    this.#lengths.set(path, index + 1);
    this.#table = this.#note(`${path}[${index}]`);
  }

  #takePair(parent: string, depth: number): boolean {
    const path = this.#takePath(parent);
    if (path === undefined || !this.#takeMark("=")) return false;
    this.#take(BLANK);
    this.#takeValue(path, depth);
    return true;
  }

  #takeValue(path: string, depth: number) {
    if (depth > DEPTH_MAX) this.#at = this.#text.length;
    const first = this.#text[this.#at];
    if (first === '"' || first === "'") this.#takeString(first);
    else if (this.#takeMark("{")) this.#takeItems("}", () => this.#takePair(path, depth + 1));
    else if (this.#takeMark("[")) this.#takeList(path, depth);
    else this.#take(SCALAR);
  }

  #takeList(path: string, depth: number) {
    let index = 0;
    this.#takeItems("]", () => {
      this.#takeValue(this.#note(`${path}[${index++}]`), depth + 1);
      return true;
    });
  }

  #takeItems(end: string, takeItem: () => boolean) {
    this.#take(SPACE_AND_COMMENTS);
    while (this.#at < this.#text.length && !this.#takeMark(end)) {
      if (!takeItem()) return;
      this.#take(SPACE_AND_COMMENTS);
      const isMore = this.#takeMark(",");
      this.#take(SPACE_AND_COMMENTS);
      // Whatever else stands here, the parser refuses it.
      if (!isMore && !this.#text.startsWith(end, this.#at)) return;
    }
  }

  #takeString(quote: string) {
    const text = this.#text;
    const isLong = this.#takeMark(quote.repeat(3));
    const mark = isLong ? quote.repeat(3) : quote;
    if (!isLong) this.#at++;
    while (this.#at < text.length && !text.startsWith(mark, this.#at)) {
      if (!isLong && text[this.#at] === "\n") return;
      this.#at += quote === '"' && text[this.#at] === "\\" ? 2 : 1;
    }
    this.#takeMark(mark);
    // The text itself may end with a quote or two, directly before the closing three.
    while (isLong && this.#takeMark(quote)) {}
  }
}

function unquote(key: string): string {
  if (key.startsWith("'")) return key.slice(1, -1);
  if (!key.startsWith('"')) return key;
  try {
    return JSON.parse(key) as string;
  } catch {
    // TOML knows a few escapes that JSON does not; such a key is no setting of ours.
    return key;
  }
}
