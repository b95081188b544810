// Surrogate pairs that a server has cut in two.

/** Index of the text; calls count from 0. */
export const TEXT = -1;

/** The first half of a pair waits for the second: strict clients refuse half a pair. */
export class Halves {
  readonly #waiting = new Map<number, string>();

  join(index: number, text: string): string {
    const whole = (this.#waiting.get(index) ?? "") + text;
    this.#waiting.delete(index);
    const last = whole.charCodeAt(whole.length - 1);
    const isHalf = last >= 0xd800 && last <= 0xdbff;
    if (!isHalf) return whole.toWellFormed();
    this.#waiting.set(index, whole.slice(-1));
    return whole.slice(0, -1).toWellFormed();
  }

  /** Returns what stands for a half without another; empty where none waits. */
  end(index: number): string {
    return this.#waiting.delete(index) ? "\ufffd" : "";
  }

  listLeft(): number[] {
    return [...this.#waiting.keys()];
  }
}
