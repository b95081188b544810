// The routes of the agent service as the document tells of them, and how one of them is asked.
import type { AskOptions, TestApp } from "../../support/app.ts";
import {
  type Document,
  followRef,
  isGateway,
  type Operation,
  type Schema,
} from "../gateway/document.ts";

export { readDocument } from "../gateway/document.ts";

export interface Route {
  method: string;
  /** With `{id}` for its parameters. */
  path: string;
  operation: Operation;
  /** undefined: it takes no body. */
  body: Schema | undefined;
}

/** Those that need a key. */
export function listRoutes(document: Document): Route[] {
  return listAll(document).filter(({ operation }) => operation.security === undefined);
}

/** Those of which the sender signs what it sends. */
export function listSigned(document: Document): Route[] {
  return listAll(document).filter(({ operation }) => operation.security?.length === 0);
}

function listAll(document: Document): Route[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      if (isGateway(path)) return [];
      const sent = operation.requestBody?.content["application/json"]?.schema;
      const body = sent?.$ref ? (followRef(document, sent.$ref) as Schema) : sent;
      return [{ method: method.toUpperCase(), path, operation, body }];
    }),
  );
}

/** What a route is asked with; left out: what is needed to be let in, and no more. */
export interface Given extends AskOptions {
  params?: Record<string, string>;
  /** Ids that stand in the example of its body, by the names of their fields. */
  owned?: Record<string, string>;
  query?: Record<string, string>;
}

/** It judges what its path names, and who may decide that, before all else of the request. */
export const isDecision = ({ path }: Route) => /^\/v1\/approvals\/\{id\}\/\w+$/.test(path);

/** Of what the id in its path is one: `agent`, `run`, `connection` … */
export function kindOf({ path }: Pick<Route, "path">): string {
  if (path.startsWith("/v1/tools/connections")) return "connection";
  return path.split("/")[2]!.replace(/s$/, "");
}

/** Needs both scopes: it calls what nobody has approved. */
export const TRIAL = "POST /v1/tools/{name}/test";
export const NOWHERE = "01920000-0000-7000-8000-00000000dead";

/** Asks a route about what does not exist, unless it is said otherwise. */
export function askRoute(app: TestApp, route: Route, given: Given = {}): Promise<Response> {
  const { params = {}, query, owned = {}, ...options } = given;
  const path = writePath(route, params);
  const behind = query ? `?${new URLSearchParams(query)}` : "";
  const body = route.body && { body: ownBody(route, owned) };
  return app.ask(route.method, path + behind, { ...body, ...options });
}

/** An example of a route's body, in which these ids take the place of those that nobody has. */
export function ownBody({ body }: Route, owned: Record<string, string>, example = 0): object {
  const fields = { ...(body!.examples?.[example] as Record<string, unknown> | undefined) };
  for (const [name, id] of Object.entries(owned)) if (name in fields) fields[name] = id;
  return fields;
}

/** A path with these for its parameters, and what does not exist for the others. */
export const writePath = ({ path }: Pick<Route, "path">, params: Record<string, string> = {}) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name) => params[name] ?? NOWHERE);

/** The names of a path's parameters. */
export const listNames = ({ path }: Pick<Route, "path">) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);

/** The fields of a body or query in which an id stands. */
export function listIdFields(fields: Record<string, Schema>): string[] {
  const isId = (schema: Schema): boolean =>
    schema.pattern?.includes("[0-9a-fA-F]{12}") || schema.anyOf?.some(isId) || false;
  return Object.keys(fields).filter((name) => isId(fields[name]!));
}

export function listQuery({ operation }: Route): Record<string, Schema> {
  const found = operation.parameters.filter((one) => one.in === "query");
  return Object.fromEntries(found.map(({ name, schema }) => [name, schema]));
}
