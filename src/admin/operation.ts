// Operations: what an operator can do, each as one command and one route of the operator API.
import type { Static, TObject } from "@sinclair/typebox";
import { DatabaseUnavailable } from "../database/index.ts";
import type { OperatorRouteSpec } from "../http/index.ts";
import { nameUser } from "../platform/process.ts";
import type { Admin } from "./admin.ts";
import type { Actor } from "./audit.ts";
import { AdminError } from "./errors.ts";
import { checkInput, listIdFields } from "./operations/fields.ts";

export interface Operation<I extends TObject = TObject, R = unknown> extends OperatorRouteSpec {
  input: I;
  /** Set on every operation that changes something. */
  audit?: OperationAudit<Static<I>, NoInfer<R>>;
  /** `request` is the one of the operator API; on a command line there is none. */
  run(admin: Admin, input: Static<I>, actor: Actor, request?: Request): Promise<R>;
}

export interface OperationAudit<I, R> {
  /** Id or name of the target; a new one's is in the reply. */
  target(input: I, reply?: R): string | null | undefined;
  /**
   * Reads the target's state; undefined where it does not exist. Secrets and what accounts write
   * are never part of it. Without this, the target is a constant.
   */
  read?(admin: Admin, target: string): Promise<unknown>;
}

/** Performs an operation, here or on another machine; the reply is the same JSON. */
export type PerformOperation = <I extends TObject, R>(
  operation: Operation<I, R>,
  request: Static<I>,
) => Promise<R>;

/** An operation whose types only its family knows. */
// biome-ignore lint/suspicious/noExplicitAny: inputs and replies of a table have no common type.
export type AnyOperation = Operation<any, any>;

export function defineOperation<I extends TObject, R>(operation: Operation<I, R>): Operation<I, R> {
  return operation;
}

/** Performs an operation. A change is in the audit log before it begins. */
export async function perform<I extends TObject, R>(
  admin: Admin,
  operation: Operation<I, R>,
  typed: Static<I>,
  actor: Actor,
  request?: Request,
): Promise<R> {
  const { audit, input: schema } = operation;
  const isLink = actor.scope !== undefined;
  if (isLink && !operation.isForLinks) throw new AdminError("a link to approvals may not do this");
  const checked = checkInput(schema, typed);
  // A part of an id would tell a link which other ones exist.
  const complete = (input: Static<I>) => (isLink ? input : completeIds(admin, schema, input));
  if (!audit) return operation.run(admin, await complete(checked), actor, request);
  const found = await findTarget(admin, audit, () => complete(checked));
  const { target, before } = found instanceof AdminError ? UNKNOWN : found;
  const change = await admin.audit.begin({ actor, operation: operation.name, target, before });
  let reply: R;
  let input: Static<I>;
  try {
    if (found instanceof AdminError) throw found;
    input = found.input;
    reply = await operation.run(admin, input, actor, request);
  } catch (failure) {
    await change.fail(failure);
    throw failure;
  }
  try {
    const known = audit.target(input, reply) ?? null;
    await change.end(known, known === null ? null : await audit.read?.(admin, known));
  } catch (failure) {
    // A finished change reported as failed would be made again; its entry stays `begun`.
    if (!(failure instanceof DatabaseUnavailable)) throw failure;
  }
  return reply;
}

const UNKNOWN = { target: null, before: null };

interface FoundTarget<I> {
  input: I;
  /** A typed text that names nothing may be a secret, and is null here. */
  target: string | null;
  before: unknown;
}

async function findTarget<I, R>(
  admin: Admin,
  audit: OperationAudit<I, R>,
  complete: () => I | Promise<I>,
): Promise<FoundTarget<I> | AdminError> {
  try {
    const input = await complete();
    const target = audit.target(input) ?? null;
    if (target === null || !audit.read) return { input, target, before: null };
    const before = (await audit.read(admin, target)) ?? null;
    return { input, target: before === null ? null : target, before };
  } catch (failure) {
    if (failure instanceof AdminError) return failure;
    throw failure;
  }
}

/** Completes ids before anything is noted, so that the audit log names whole ones. */
async function completeIds<I extends TObject>(
  admin: Admin,
  schema: I,
  typed: Static<I>,
): Promise<Static<I>> {
  const input: Record<string, unknown> = { ...typed };
  for (const [name, kind] of listIdFields(schema)) {
    const value = input[name];
    if (typeof value === "string") input[name] = await admin.resolveId(kind, value);
  }
  return input as Static<I>;
}

export function nameLocalActor(): Actor {
  return { kind: "user", name: nameUser(), via: "command line" };
}
