// Where the references of a caller's schema lead: to a place inside it, or the schema is refused.
import { SchemaFault } from "./fault.ts";

/** The address of a schema that has no `$id`; nothing can be fetched from it. */
export const HOME = "https://parameters.invalid/";

/** What no fragment has as it is. Other letters stay: the validator reads them only so. */
const ILLEGAL = /[^!$&-;=?-Z_a-z~\u0080-\u{10ffff}]/gu;

interface Reference {
  keyword: string;
  target: string;
  base: string;
  at: string;
  /** The copy in which the resolved address is written. */
  copy: Record<string, unknown>;
}

export interface References {
  /** The address that an `$id` gives its schema, which is known by it from then on. */
  nameResource(id: string, base: string, schema: object, at: string): string;
  nameAnchor(name: string, base: string, at: string): void;
  /** A place where a schema stands, so that references may lead to it. */
  addPlace(schema: object): void;
  add(reference: Reference): void;
  /** Resolves all references, once the whole schema is known. */
  resolve(): void;
}

export function createReferences(root: object): References {
  const resources = new Map<string, object>([[HOME, root]]);
  const anchors = new Set<string>();
  const places = new Set<unknown>([true, false]);
  const references: Reference[] = [];
  const find = ({ target, base, at }: Reference): string => {
    const [address, fragment] = splitAddress(target, base, at);
    const resource = resources.get(address);
    const lost = new SchemaFault(at, "must lead to a schema inside `parameters`: no other is read");
    if (!resource) throw lost;
    if (fragment === "") return address;
    const isThere = fragment.startsWith("/")
      ? places.has(follow(fragment, resource))
      : anchors.has(`${address}#${fragment}`);
    if (!isThere) throw lost;
    return `${address}#${fragment.replace(ILLEGAL, encodeURIComponent)}`;
  };
  return {
    nameResource(id, base, schema, at) {
      const [address, fragment] = splitAddress(id, base, at);
      if (fragment !== "") throw new SchemaFault(at, "must have no fragment");
      if (resources.has(address) && resources.get(address) !== schema) {
        throw new SchemaFault(at, "must differ from every other `$id`");
      }
      resources.set(address, schema);
      return address;
    },
    nameAnchor(name, base, at) {
      // The validator finds anchors by name in plain objects.
      if (name in {}) throw new SchemaFault(at, "must have another name");
      const anchor = `${base}#${name}`;
      if (anchors.has(anchor)) throw new SchemaFault(at, "must differ from every other anchor");
      anchors.add(anchor);
    },
    addPlace: (schema) => places.add(schema),
    add: (reference) => references.push(reference),
    resolve() {
      for (const reference of references) reference.copy[reference.keyword] = find(reference);
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
  for (const step of pointer.slice(1).split("/")) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
      return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
