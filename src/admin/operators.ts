// Operators: create, list, revoke; the operator behind a token.
import {
  isActive,
  makeOperator,
  type Operator,
  type OperatorRole,
  operatorStore,
} from "../access/index.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError, requireName, unknownName } from "./errors.ts";
import { DEV } from "./first-keys.ts";
import { LIFETIME_MS_MAX } from "./keys.ts";

export interface OperatorRequest {
  name: string;
  role: OperatorRole;
  /** Milliseconds from now; undefined: without end. */
  lifetimeMs?: number;
}

export function createOperatorAdmin(deps: AdminDeps) {
  const { database, clock } = deps;
  const operators = database.bind(operatorStore);
  return {
    list: (): Promise<Operator[]> => operators.list(),
    find: (name: string): Promise<Operator | undefined> => operators.findByName(name),
    /** Returns the token; only its hash is stored. */
    async create({ name, role, lifetimeMs }: OperatorRequest) {
      requireName("an operator's", name);
      if (lifetimeMs !== undefined && !(lifetimeMs >= 1 && lifetimeMs <= LIFETIME_MS_MAX)) {
        throw new AdminError("a token ends at least 1 ms and at most 36500 days from now");
      }
      const expires_at = lifetimeMs === undefined ? null : clock.now() + lifetimeMs;
      const { stored, token } = makeOperator(deps, { name, role, expires_at });
      if (await operators.create(stored)) return { operator: stored as Operator, token };
      throw new AdminError(
        `an operator "${name}" exists or has existed: names in the audit log stay unique`,
        "conflict",
      );
    },
    /** Takes effect at the operator's next request. */
    async revoke(name: string): Promise<Operator> {
      const revoked = await operators.revoke(name, clock.now());
      if (revoked) return revoked;
      const names = (await operators.list()).map((one) => one.name);
      throw unknownName("operator", name, names, "see `wadi operators list`");
    },
    /** Gives the operator of `wadi dev` a fixed token, which follows its first key. */
    async createDevOperator(token: string): Promise<void> {
      const chosen = { name: DEV, role: "operator", expires_at: null } as const;
      await operators.replace(makeOperator(deps, chosen, token).stored);
    },
    /** Finds who a token's hash belongs to, if the token is in force. */
    async identify(token_hash: string): Promise<Operator | undefined> {
      const operator = await operators.find(token_hash);
      return operator && isActive(operator, clock.now()) ? operator : undefined;
    },
  };
}

export type OperatorAdmin = ReturnType<typeof createOperatorAdmin>;
