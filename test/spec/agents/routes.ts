// The routes of the agents API from the document, and requests to them.
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
  /** Schema of the body; undefined: the route has none. */
  body: Schema | undefined;
}

/** Routes that need a key. */
export function listRoutes(document: Document): Route[] {
  return listAll(document).filter(({ operation }) => operation.security === undefined);
}

/** Routes whose sender signs the request. */
export function listSigned(document: Document): Route[] {
  return listAll(document).filter(({ operation }) => operation.security?.length === 0);
}

function listAll(document: Document): Route[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      // Another protocol, with an envelope of its own: test/agents/mcp-server.
      if (isGateway(path) || path === "/mcp") return [];
      const sent = operation.requestBody?.content["application/json"]?.schema;
      const body = sent?.$ref ? (followRef(document, sent.$ref) as Schema) : sent;
      return [{ method: method.toUpperCase(), path, operation, body }];
    }),
  );
}

/** Parts of a request; by default the minimum that is admitted. */
export interface RouteRequest extends AskOptions {
  params?: Record<string, string>;
  /** Ids in the example of its body, by field name. */
  owned?: Record<string, string>;
  query?: Record<string, string>;
}

/** The route checks the object of its path and the permission to decide first. */
export const isDecision = ({ path }: Route) => /^\/v1\/approvals\/\{id\}\/\w+$/.test(path);

/** Type of object that its path's id names: `agent`, `run`, `connection` … */
export function kindOf({ path }: Pick<Route, "path">): string {
  if (path.startsWith("/v1/tools/connections")) return "connection";
  return path.split("/")[2]!.replace(/s$/, "");
}

/** Needs both scopes: it makes calls without approval. */
export const TRIAL = "POST /v1/tools/{name}/test";
/** Routes that need an MCP server that answers: test/agents/tools/mcp has those. */
export const NEED_SERVER = ["createMcpServer", "acceptTool", "updateTool"];
export const NOWHERE = "01920000-0000-7000-8000-00000000dead";

/** Requests an unknown object from a route by default. */
export function askRoute(
  app: TestApp,
  route: Route,
  request: RouteRequest = {},
): Promise<Response> {
  const { params = {}, query, owned = {}, ...options } = request;
  const path = writePath(route, params);
  const behind = query ? `?${new URLSearchParams(query)}` : "";
  const body = route.body && { body: ownBody(route, owned) };
  return app.ask(route.method, path + behind, { ...body, ...options });
}

/** An example of a route's body with these ids in place of unknown ones. */
export function ownBody({ body }: Route, owned: Record<string, string>, example = 0): object {
  const fields = { ...(body!.examples?.[example] as Record<string, unknown> | undefined) };
  for (const [name, id] of Object.entries(owned)) if (name in fields) fields[name] = id;
  return fields;
}

/** Parameters of paths that are numbers. */
const NUMBERS = ["round"];

/** A path with these for its parameters, and what does not exist for the others. */
export const writePath = ({ path }: Pick<Route, "path">, params: Record<string, string> = {}) =>
  path.replaceAll(
    /\{(\w+)\}/g,
    (_, name) => params[name] ?? (NUMBERS.includes(name) ? "1" : NOWHERE),
  );

/** The names of a path's parameters that name objects. */
export const listNames = ({ path }: Pick<Route, "path">) =>
  [...path.matchAll(/\{(\w+)\}/g)]
    .map(([, name]) => name!)
    .filter((name) => !NUMBERS.includes(name));

/** The fields of a body or query that contain an id. */
export function listIdFields(fields: Record<string, Schema>): string[] {
  const isId = (schema: Schema): boolean =>
    schema.pattern?.includes("[0-9a-fA-F]{12}") || schema.anyOf?.some(isId) || false;
  return Object.keys(fields).filter((name) => isId(fields[name]!));
}

export function listQuery({ operation }: Route): Record<string, Schema> {
  const found = operation.parameters.filter((one) => one.in === "query");
  return Object.fromEntries(found.map(({ name, schema }) => [name, schema]));
}
