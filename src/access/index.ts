// Accounts, keys, the caller behind a request, and rate limits.
import type { Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { createFindCaller, createIdentify, createIdentifyKey } from "./caller.ts";
import { Credentials } from "./credentials.ts";
import { holdStore } from "./holds/store.ts";
import { accountStore, keyStore } from "./store.ts";

export {
  ApprovalLink,
  type FoundApprovalLink,
  type LinkScope,
  makeApprovalLink,
  makeLinkUse,
} from "./approval-links/link.ts";
export { approvalLinkStore } from "./approval-links/store.ts";
export { AuditEntry, auditStore } from "./audit/store.ts";
export {
  accountOf,
  type Caller,
  type FindCaller,
  type Identify,
  type IdentifyKey,
  isInternal,
} from "./caller.ts";
export { Account, hashSecret, isInForce, Key, type NewKey, SeenKey } from "./credentials.ts";
export { Hold, type HoldRow } from "./holds/store.ts";
export { KeyRevocations } from "./key-revocation.ts";
export { KeyUses } from "./key-uses.ts";
export { LimitUse, REACHED_LIMIT, showAmount, showLimit } from "./limit-use.ts";
export { LimiterGroup, type LimitStates } from "./limiter-group.ts";
export {
  LIMIT_AMOUNT_MAX,
  LIMIT_NAMES,
  type LimitChange,
  type LimitName,
  type Limits,
  type Measure,
  PERIODS,
  type Period,
  splitLimitName,
} from "./limits.ts";
export {
  findModelState,
  type ModelStates,
  ModelStatesRow,
  pickModelStates,
} from "./model-states.ts";
export {
  isActive,
  makeOperator,
  Operator,
  type OperatorRole,
  ROLES,
} from "./operators/operator.ts";
export { operatorStore } from "./operators/store.ts";
export { type LimitRule, RateLimiter } from "./rate-limit.ts";
export { requireScope, SCOPES, type Scope } from "./scopes.ts";
export {
  type FoundSession,
  makeLink,
  makeSession,
  OperatorSession,
} from "./sessions/session.ts";
export { sessionStore } from "./sessions/store.ts";
export type { KeyChange } from "./store.ts";

export interface AccessOptions {
  database: Database;
  clock: Clock;
  ids: Ids;
  alias: string;
  /** Called with the key of each request that carries one in force. */
  noteUse?(key_id: string): void;
}

export function buildAccess({ database, clock, ids, alias, noteUse }: AccessOptions) {
  const keys = database.bind(keyStore);
  return {
    identify: createIdentify(keys, clock, noteUse),
    identifyKey: createIdentifyKey(keys, clock),
    findCaller: createFindCaller(keys, clock),
    credentials: new Credentials(clock, ids, alias),
    accounts: database.bind(accountStore),
    keys,
    holds: database.bind(holdStore),
  };
}
export type Access = ReturnType<typeof buildAccess>;
