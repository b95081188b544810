// The scopes a key may carry; a key starts with none of them (gateway.authentication.9).
import { Type } from "@sinclair/typebox";
import { apiError } from "../platform/errors.ts";

export const SCOPES = [
  "reasoning",
  "think",
  "embeddings",
  "search",
  "agents",
  "agents.approve",
] as const;

export type Scope = (typeof SCOPES)[number];

/** gateway.authentication.4, agents.errors.scope_required: checks the scope of a route. */
export function requireScope({ scopes }: { scopes: readonly Scope[] }, scope: Scope): void {
  if (scopes.includes(scope)) return;
  throw apiError("scope_required", { message: `This route needs the scope ${scope}.` });
}

export const ScopeSchema = Type.Union(
  SCOPES.map((scope) => Type.Literal(scope)),
  { description: "What the key may do beyond chat and the model list." },
);
