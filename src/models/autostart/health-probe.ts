// Whether a unit is there: by its health, and by what its requests hear of it.

export class HealthProbe {
  readonly #look: () => Promise<boolean>;
  readonly #onBug: (error: unknown) => void;
  /** How much was heard of its servers. */
  #heard = 0;
  #doubt: Promise<boolean> | null = null;

  /** `look` asks its health; what it throws is a bug, and no sign of life. */
  constructor(look: () => Promise<boolean>, onBug: (error: unknown) => void) {
    this.#look = look;
    this.#onBug = onBug;
  }

  /** Its servers say something: one that is too busy for its health is not gone. */
  hear(): void {
    this.#heard++;
  }

  /** What its health says. */
  async look(): Promise<boolean> {
    try {
      return await this.#look();
    } catch (error) {
      this.#onBug(error);
      return false;
    }
  }

  /** Whether it is there: its health says so, or a request heard of it meanwhile. */
  async sense(): Promise<boolean> {
    const heard = this.#heard;
    return (await this.look()) || this.#heard > heard;
  }

  /** The same, once for all who doubt it. */
  doubt(): Promise<boolean> {
    if (this.#doubt) return this.#doubt;
    const doubt = this.sense();
    this.#doubt = doubt;
    void doubt.then(() => {
      if (this.#doubt === doubt) this.#doubt = null;
    });
    return doubt;
  }

  /** It is in another state: what was seen before says nothing any more. */
  forget(): void {
    this.#doubt = null;
  }
}
