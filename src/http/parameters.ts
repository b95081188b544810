// Reads the parameters of a URL: those in its path, and its query.
import type { TObject, TSchema } from "@sinclair/typebox";
import { type ApiError, apiError } from "../platform/errors.ts";
import { shorten } from "../platform/text.ts";
import { compileFields } from "./fields.ts";
import type { Path, RouteSpec } from "./route.ts";

type Values = Record<string, unknown>;
export interface RouteParameters {
  params: unknown;
  query: unknown;
}

const WHOLE_NUMBER = /^-?[0-9]{1,15}$/;

/** agents.errors.p4, agents.errors.p5: checks the ids in the path first, then the query. */
export function compileParameters(
  path: Path,
  spec: Pick<RouteSpec, "params" | "query" | "ignores_unknown_query">,
  refusesQuery: boolean,
): (url: string) => RouteParameters {
  const { params, query, ignores_unknown_query } = spec;
  const readParams = params && compileParams(path, params);
  const readQuery = query && compileQuery(query, ignores_unknown_query === true);
  return (url) => {
    const found = readParams?.(url);
    if (readQuery) return { params: found, query: readQuery(queryOf(url)) };
    if (refusesQuery) refuseQuery(queryOf(url));
    return { params: found, query: undefined };
  };
}

export function pathOf(url: string): string {
  if (url.startsWith("/")) return url;
  const slash = url.indexOf("/", url.indexOf("://") + 3);
  return slash === -1 ? "/" : url.slice(slash);
}

function queryOf(url: string): string {
  const mark = url.indexOf("?");
  return mark === -1 ? "" : url.slice(mark + 1);
}

/** agents.resources.p4, agents.errors.p9 */
function compileParams(path: Path, schema: TObject): (url: string) => Values {
  const steps = path.split("/");
  const places = steps.flatMap((step, at) => (step.startsWith(":") ? [[step.slice(1), at]] : []));
  const names = places.map(([name]) => name);
  if (!Bun.deepEquals(names, Object.keys(schema.properties))) {
    throw new Error(`${path} has other parameters than its schema`);
  }
  const check = compileFields(schema);
  return (url) => {
    const found = pathOf(url).split(/[?#]/, 1)[0]!.split("/");
    const values: Values = {};
    for (const [name, at] of places) {
      const text = decodeStep(found[at as number] ?? "");
      const { type } = schema.properties[name as string]!;
      values[name as string] = type === "integer" ? readWhole(text) : text;
    }
    return check(values);
  };
}

/** Keeps a wrong encoding, since no schema of ours accepts a `%`. */
function decodeStep(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** agents.errors.p9: refuses invalid and unknown parameters. */
function compileQuery(schema: TObject, ignoresUnknown: boolean): (query: string) => Values {
  const check = compileFields(schema);
  const fields = new Map(Object.entries(schema.properties));
  return (query) => {
    const values: Values = {};
    let unknown: string | undefined;
    for (const [name, text] of new URLSearchParams(query)) {
      const part = fields.has(name) ? null : readPart(fields, name);
      const into = part ? openPart(values, part.of) : values;
      const own = part?.name ?? name;
      if (!fields.has(name) && !part) unknown ??= name;
      else if (Object.hasOwn(into, own)) throw refuseParameter(shorten(name), "must be sent once");
      else into[own] = fields.get(name)?.type === "integer" ? readWhole(text) : text;
    }
    check(values);
    if (unknown !== undefined && !ignoresUnknown) throw refuseUnknown(unknown);
    return values;
  };
}

const PART = /^([^[\]]+)\[(.*)\]$/s;

/** Reads `name[part]` of a field that is an object: `deepObject` of OpenAPI. */
function readPart(fields: ReadonlyMap<string, TSchema>, sent: string) {
  const [, of, name] = PART.exec(sent) ?? [];
  return of !== undefined && fields.get(of)?.type === "object" ? { of, name: name! } : null;
}

/** Without a prototype every name is an ordinary one. */
function openPart(values: Values, of: string): Values {
  values[of] ??= Object.create(null);
  if (typeof values[of] === "string") throw refuseParameter(of, "must be sent once");
  return values[of] as Values;
}

/** Keeps other texts, which the schema refuses by their name. */
function readWhole(text: string): number | string {
  return WHOLE_NUMBER.test(text) ? Number(text) : text;
}

function refuseQuery(query: string): void {
  if (query === "") return;
  for (const name of new URLSearchParams(query).keys()) throw refuseUnknown(name);
}

function refuseUnknown(name: string): ApiError {
  return refuseParameter(shorten(name), "is not a parameter of this route");
}

function refuseParameter(param: string, says: string): ApiError {
  return apiError("validation", { param, message: `\`${param}\` ${says}.` });
}
