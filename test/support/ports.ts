/** Linux gives away ports from 32,768 on, other systems from 49,152 on. */
const FROM = 12_000;
const COUNT = 20_000;
const TRIES_MAX = 20;

/**
 * Listens on a port that no system gives away by itself: while nothing listens there, neither
 * another server nor a connection that goes out can take it.
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
