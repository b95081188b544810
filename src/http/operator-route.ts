// The specification of a route of the operator API.
import { type TObject, type TSchema, Type } from "@sinclair/typebox";
import type { HttpMethod } from "./route.ts";

export interface OperatorRouteSpec {
  /** Words of the command that does the same: `keys create`. */
  name: string;
  method: HttpMethod;
  /** Path below /operator/v1; `:id` is a field of the input. */
  path: `/${string}`;
  summary: string;
  /** Fields of the path, then of the query of a GET or DELETE, else of the body. */
  input: TObject;
  /** The reply on the wire, which is also what the command prints with --json. */
  reply: TSchema;
  /** Server-sent events in place of the reply, where the input asks for them. */
  stream?: TSchema;
  /** An approver may call it too. */
  isForApprovers?: true;
  /** A person with a link to approvals may call it for those. */
  isForLinks?: true;
}

/** Splits the input into the fields of the path, in its order, and the others. */
export function splitInput({ path, input }: OperatorRouteSpec) {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  const pick = (wanted: readonly string[]) =>
    Type.Object(Object.fromEntries(wanted.map((name) => [name, input.properties[name]!])), {
      additionalProperties: false,
    });
  const others = Object.keys(input.properties).filter((name) => !names.includes(name));
  return { inPath: names.length === 0 ? undefined : pick(names), rest: pick(others) };
}
