// Checks whether a model server is up, by its health and by signs of life in its requests.

export class HealthProbe {
  readonly #check: () => Promise<boolean>;
  readonly #onBug: (error: unknown) => void;
  #signsOfLife = 0;
  #doubt: Promise<boolean> | null = null;

  /** An error of `check` is a bug, and counts as down. */
  constructor(check: () => Promise<boolean>, onBug: (error: unknown) => void) {
    this.#check = check;
    this.#onBug = onBug;
  }

  /** Notes an answer: a server that is too busy for its health is not gone. */
  noteLife(): void {
    this.#signsOfLife++;
  }

  async isHealthy(): Promise<boolean> {
    try {
      return await this.#check();
    } catch (error) {
      this.#onBug(error);
      return false;
    }
  }

  async isAlive(): Promise<boolean> {
    const before = this.#signsOfLife;
    return (await this.isHealthy()) || this.#signsOfLife > before;
  }

  /** Shares one check among all requests that doubt the server. */
  doubt(): Promise<boolean> {
    if (this.#doubt) return this.#doubt;
    const doubt = this.isAlive();
    this.#doubt = doubt;
    void doubt.then(() => {
      if (this.#doubt === doubt) this.#doubt = null;
    });
    return doubt;
  }

  /** Drops a check under way, since the server's state has changed. */
  reset(): void {
    this.#doubt = null;
  }
}
