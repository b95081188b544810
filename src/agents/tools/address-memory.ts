// Addresses found in texts: after content from outside was read, only these may be opened.
import { yieldToEventLoop } from "../../platform/clock.ts";
import { listAddresses, listBareAddresses, normalizeAddress } from "./addresses.ts";

/** Maximum addresses of one generation; a user's own are kept apart. */
const ADDRESSES_MAX = 5_000;
const ADDRESSES_CHARACTERS_MAX = 500_000;
/** Maximum characters of unread texts; the oldest are dropped. */
const UNREAD_CHARACTERS_MAX = 4_194_304;
/** Number of places read in a turn of the event loop; one of 2,000 characters takes 0.1 ms. */
const PLACES_A_TURN = 128;
/** Maximum addresses of a model's own in a call; beyond it, no address of the result is kept. */
const INVENTED_MAX = 100;

interface UnreadText {
  text: string;
  /** Arguments that the tool may repeat in its result. */
  request: string | null;
}

/**
 * Remembers the latest 5,000 to 10,000 addresses of results, and 5,000 of the user. A flood of
 * addresses makes none known. Texts are read on demand, since most runs never ask.
 */
export class KnownAddresses {
  readonly #input = new Generation();
  #young = new Generation();
  #old = new Generation();
  readonly #inputs: string[] = [];
  readonly #unread: UnreadText[] = [];
  #unreadCharacters = 0;
  #reading: Promise<void> = Promise.resolve();

  /** Adds a result, or another text that the model did not write. */
  add(text: string, request: string | null = null): void {
    this.#unread.push({ text, request });
    this.#unreadCharacters += text.length;
    while (this.#unreadCharacters > UNREAD_CHARACTERS_MAX) this.#takeUnread();
  }

  /** Adds the user's words, in which `example.com/page` is an address too. */
  addInput(text: string): void {
    this.#inputs.push(text);
  }

  async has(url: string): Promise<boolean> {
    const address = normalizeAddress(url);
    if (address === null) return false;
    // Calls read one after another, so that each text is read once.
    this.#reading = this.#reading.then(() => this.#readAll());
    await this.#reading;
    return this.#isKnown(address);
  }

  #takeUnread(): UnreadText | undefined {
    const next = this.#unread.shift();
    this.#unreadCharacters -= next?.text.length ?? 0;
    return next;
  }

  async #readAll(): Promise<void> {
    for (const text of this.#inputs.splice(0)) {
      for await (const address of readInTurns(listAddresses(text))) this.#input.add(address);
      for await (const address of readInTurns(listBareAddresses(text))) this.#input.add(address);
    }
    for (let next = this.#takeUnread(); next; next = this.#takeUnread()) await this.#read(next);
  }

  async #read({ text, request }: UnreadText): Promise<void> {
    const invented = request === null ? [] : await this.#listInvented(request);
    if (invented.length > INVENTED_MAX) return;
    for await (const address of readInTurns(listAddresses(text))) {
      if (this.#young.has(address) || invented.some((one) => address.startsWith(one))) continue;
      if (this.#young.isFull) {
        this.#old = this.#young;
        this.#young = new Generation();
      }
      this.#young.add(address);
    }
  }

  /** Lists addresses that came from the model, even if a tool repeats or extends them. */
  async #listInvented(request: string): Promise<string[]> {
    const invented = new Set<string>();
    for (const list of [listAddresses, listBareAddresses]) {
      for await (const address of readInTurns(list(request))) {
        if (!this.#isKnown(address)) invented.add(address);
        if (invented.size > INVENTED_MAX) return [...invented];
      }
    }
    return [...invented];
  }

  #isKnown(address: string): boolean {
    return [this.#input, this.#young, this.#old].some((generation) => generation.has(address));
  }
}

let lastTurn: Promise<void> = Promise.resolve();

async function* readInTurns(places: Iterable<readonly string[]>): AsyncGenerator<string> {
  let count = 0;
  for (const addresses of places) {
    if (count++ % PLACES_A_TURN === 0) {
      lastTurn = lastTurn.then(yieldToEventLoop);
      await lastTurn;
    }
    yield* addresses;
  }
}

class Generation {
  readonly #addresses = new Set<string>();
  #characters = 0;

  get isFull(): boolean {
    return this.#addresses.size >= ADDRESSES_MAX || this.#characters >= ADDRESSES_CHARACTERS_MAX;
  }

  has(address: string): boolean {
    return this.#addresses.has(address);
  }

  add(address: string): void {
    if (this.isFull || this.#addresses.has(address)) return;
    this.#addresses.add(address);
    this.#characters += address.length;
  }
}
