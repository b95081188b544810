// Explains why a port is not available, with a way out.

class CannotListen extends Error {}

export function listenError(failure: unknown, place: { host: string; port: number }): Error {
  return new CannotListen(explain(failure, place), { cause: failure });
}

function explain(failure: unknown, { host, port }: { host: string; port: number }): string {
  const { code } = failure as { code?: string };
  const place = `port ${port} on ${host}`;
  switch (code) {
    case "EADDRINUSE":
      return `${place} is taken: stop what listens there, or choose another with --port`;
    case "EACCES":
      return `${place} may not be opened by this user: choose one above 1023 with --port`;
    default:
      return `cannot listen on ${place} (${code ?? failure}): choose another address with --host`;
  }
}
