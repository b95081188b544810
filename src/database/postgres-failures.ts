// Failures of PostgreSQL and of its driver, told apart by their codes.

/** Returns PostgreSQL's code of a failure, such as 40001, or the driver's. */
export function stateOf(failure: unknown): string {
  const { errno, code } = (failure ?? {}) as { errno?: unknown; code?: unknown };
  return String(errno ?? code ?? "");
}

/** The server, or the network, has ended the connection. */
export function isCut(failure: unknown): boolean {
  return /^(57P0[12]|08|25P03|ERR_POSTGRES_CONNECTION_CLOSED)/.test(stateOf(failure));
}

const READ_ONLY = "25006";

/** The server takes no writes: it may be a standby, and another one the leader. */
export function isReadOnly(failure: unknown): boolean {
  return stateOf(failure) === READ_ONLY;
}

/** 40001: could not serialise; 40P01: deadlock; 53200: no room to track dependencies. */
export function isCollision(failure: unknown): boolean {
  return ["40001", "40P01", "53200"].includes(stateOf(failure));
}

/** A lock was not free in time. */
export function isLocked(failure: unknown): boolean {
  return stateOf(failure) === "55P03";
}

/** An earlier statement has ended the transaction, and its failure says why. */
export function isFollowing(failure: unknown): boolean {
  return stateOf(failure) === "25P02";
}

/** The server did not answer in time; what was sent may have been done. */
export class ServerSilent extends Error {
  override name = "ServerSilent";
  readonly code = "ERR_POSTGRES_CONNECTION_SILENT";

  constructor() {
    super("the database server does not answer");
  }
}

/** The server that answers is a standby. */
export class ServerReadOnly extends Error {
  override name = "ServerReadOnly";
  readonly code = READ_ONLY;

  constructor() {
    super("the database server is a standby");
  }
}
