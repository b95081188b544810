// A process that dies: from then on nothing of it reaches the database, and nothing answers it.

export function createDeath() {
  const reached = Promise.withResolvers<void>();
  let isDead = false;
  const die = () => {
    isDead = true;
    reached.resolve();
  };
  const act = (name: string, method: (...given: unknown[]) => unknown, given: unknown[]) => {
    if (!isDead) return method(...given);
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
          async (...given: unknown[]) => act(name, method, given),
        ]),
      ) as T,
  };
}
