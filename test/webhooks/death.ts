// A process that dies: from then on none of its calls reaches the database or is answered.

export function createDeath() {
  const reached = Promise.withResolvers<void>();
  let isDead = false;
  const die = () => {
    isDead = true;
    reached.resolve();
  };
  const act = (name: string, method: (...args: unknown[]) => unknown, args: unknown[]) => {
    if (!isDead) return method(...args);
    // A test that is over need not wait for it.
    return name === "end" ? undefined : new Promise<never>(() => undefined);
  };
  return {
    die,
    reached: reached.promise,
    guard: <T extends object>(store: T): T =>
      Object.fromEntries(
        Object.entries(store).map(([name, method]) => [
          name,
          async (...args: unknown[]) => act(name, method, args),
        ]),
      ) as T,
  };
}
