/** Linux assigns ports from 32,768, other systems from 49,152. */
const FROM = 12_000;
const COUNT = 20_000;
const TRIES_MAX = 20;

/**
 * Listens on a port outside the ranges that systems assign: while it is free, no other server or
 * outgoing connection takes it.
 */
export function listenApart<T>(listen: (port: number) => T): T {
  for (let tries = 1; ; tries++) {
    try {
      return listen(FROM + Math.floor(Math.random() * COUNT));
    } catch (failure) {
      if (tries === TRIES_MAX) throw failure;
    }
  }
}

export function findClosedPort(): number {
  const socket = { data() {} };
  const listener = listenApart((port) => Bun.listen({ hostname: "127.0.0.1", port, socket }));
  listener.stop(true);
  return listener.port;
}
