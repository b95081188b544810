// Where the references of a caller's schema lead: to a place inside it, or the schema is refused.
import { SchemaFault } from "./fault.ts";

/** The address of a schema that has no `$id`; nothing can be fetched from it. */
export const HOME = "https://parameters.invalid/";

/** What no fragment has as it is. Other letters stay: the validator reads them only so. */
const ILLEGAL = /[^!$&-;=?-Z_a-z~\u0080-\u{10ffff}]/gu;

/** A schema in the copy that is compiled. */
export type Copy = Record<string, unknown>;

/** A keyword that names something, or leads there. */
export interface Mention {
  keyword: string;
  text: string;
  /** The address that the text is relative to. */
  base: string;
  at: string;
  /** Where the keyword stands. */
  copy: Copy;
}

export interface References {
  /** The address that an `$id` gives its schema, which is known by it from then on. */
  nameResource(mention: Mention, schema: object): string;
  nameAnchor(mention: Mention): void;
  /** A place where a schema stands, so that references may lead to it. */
  addPlace(schema: object, copy: Copy): void;
  add(reference: Mention): void;
  /** Writes addresses for references, once all is known, and tells where each schema's lead. */
  resolve(): Map<Copy, Copy[]>;
}

export function createReferences(root: object): References {
  const resources = new Map<string, object>([[HOME, root]]);
  const places = new Map<unknown, Copy>();
  const anchors = new Map<string, Copy>();
  const dynamic = new Map<string, Copy[]>();
  const references: Mention[] = [];
  const find = ({ text, base, at }: Mention): [address: string, name: string, target: Copy] => {
    const [address, fragment] = splitAddress(text, base, at);
    const resource = resources.get(address);
    const isPointer = fragment === "" || fragment.startsWith("/");
    const place = isPointer && resource ? follow(fragment, resource) : undefined;
    const target = isPointer ? places.get(place) : anchors.get(`${address}#${fragment}`);
    // True and false are schemas too, and lead nowhere.
    if (!target && typeof place !== "boolean") {
      throw new SchemaFault(at, "must lead to a schema inside `parameters`: no other is read");
    }
    const hash = fragment === "" ? "" : `#${fragment.replace(ILLEGAL, encodeURIComponent)}`;
    return [address + hash, fragment, target ?? {}];
  };
  return {
    nameResource({ text, base, at }, schema) {
      const [address, fragment] = splitAddress(text, base, at);
      if (fragment !== "") throw new SchemaFault(at, "must have no fragment");
      if (resources.has(address) && resources.get(address) !== schema) {
        throw new SchemaFault(at, "must differ from every other `$id`");
      }
      resources.set(address, schema);
      return address;
    },
    nameAnchor({ keyword, text, base, at, copy }) {
      // The validator finds anchors by name in plain objects.
      if (text in {}) throw new SchemaFault(at, "must have another name");
      const anchor = `${base}#${text}`;
      if (anchors.has(anchor)) throw new SchemaFault(at, "must differ from every other anchor");
      anchors.set(anchor, copy);
      if (keyword !== "$dynamicAnchor") return;
      dynamic.set(text, [...(dynamic.get(text) ?? []), copy]);
    },
    addPlace: (schema, copy) => places.set(schema, copy),
    add: (reference) => references.push(reference),
    resolve() {
      const leads = new Map<Copy, Copy[]>();
      for (const reference of references) {
        const { keyword, copy } = reference;
        const [address, name, target] = find(reference);
        copy[keyword] = address;
        // Which anchor of the name holds is known only while a value is judged.
        const others = keyword === "$dynamicRef" ? (dynamic.get(name) ?? []) : [];
        leads.set(copy, [...(leads.get(copy) ?? []), ...new Set([target, ...others])]);
      }
      return leads;
    },
  };
}

/** The absolute address without its fragment, and the fragment decoded. */
function splitAddress(text: string, base: string, at: string): [string, string] {
  try {
    const url = new URL(text, base);
    const fragment = decodeURIComponent(url.hash.slice(1));
    url.hash = "";
    return [url.href, fragment];
  } catch {
    throw new SchemaFault(at, "must be a URI reference");
  }
}

/** The value at a JSON pointer; undefined: there is none. */
function follow(pointer: string, root: object): unknown {
  let value: unknown = root;
  if (pointer === "") return root;
  for (const step of pointer.slice(1).split("/")) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
      return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
