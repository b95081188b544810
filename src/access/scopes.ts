// The scopes a key may carry; a key starts with none of them (gateway.authentication.9).
import { Type } from "@sinclair/typebox";

export const SCOPES = [
  "reasoning",
  "think",
  "embeddings",
  "search",
  "agents",
  "agents.approve",
] as const;

export type Scope = (typeof SCOPES)[number];

export const ScopeSchema = Type.Union(
  SCOPES.map((scope) => Type.Literal(scope)),
  { description: "What the key may do beyond chat and the model list." },
);
