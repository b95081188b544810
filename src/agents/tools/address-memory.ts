// What may still be opened once text from outside was read: the addresses that texts have brought.
import { listAddresses, listBareAddresses, normalizeAddress } from "./addresses.ts";
import { createSerialQueue } from "./serial-queue.ts";

/** Of one generation; the user's own words are kept beside both. */
const ADDRESSES_MAX = 5_000;
const ADDRESSES_CHARACTERS_MAX = 500_000;
/** Results of which nobody has asked yet: what comes before them brings nothing any more. */
const UNREAD_CHARACTERS_MAX = 4_194_304;
/** Some of 2,000 characters take a tenth of a millisecond each. */
const PLACES_A_TURN = 128;
/** Who says more addresses to one tool does not look for an answer: then it brings none. */
const INVENTED_MAX = 100;

/** The addresses that texts have brought so far. */
export interface KnownAddresses {
  /**
   * A result, or whatever else was said that is not the model's own. `asked`: what the model had
   * said to the tool that may say it again; null: it said nothing, or the tool repeats nothing.
   */
  add(text: string, asked?: string | null): void;
  /** The user's words: there `example.com/page` is an address too. */
  addInput(text: string): void;
  /** Whether the whole address stood in one of the texts. */
  has(url: string): Promise<boolean>;
}

interface Unread {
  text: string;
  asked: string | null;
}

/**
 * Remembers the latest 5,000 to 10,000 addresses of results, and 5,000 of the user. What is beyond
 * is unknown again: whoever floods a run with addresses closes doors and opens none. Texts are read
 * when somebody asks, in turns of the event loop: most runs never do, and a thread may hold
 * megabytes of them.
 */
export function createKnownAddresses(): KnownAddresses {
  const input = new Generation();
  let young = new Generation();
  let old = new Generation();
  const inputs: string[] = [];
  const unread: Unread[] = [];
  let characters = 0;
  let reading: Promise<void> = Promise.resolve();

  const isKnown = (address: string) => input.has(address) || young.has(address) || old.has(address);
  const remember = async ({ text, asked }: Unread) => {
    const invented = asked === null ? [] : await listInvented(asked, isKnown);
    if (invented.length > INVENTED_MAX) return;
    for await (const address of readInTurns(listAddresses(text))) {
      if (young.has(address) || invented.some((one) => address.startsWith(one))) continue;
      if (young.isFull) {
        old = young;
        young = new Generation();
      }
      young.add(address);
    }
  };
  const readAll = async () => {
    for (const text of inputs.splice(0)) {
      for await (const address of readInTurns(listAddresses(text))) input.add(address);
      for await (const address of readInTurns(listBareAddresses(text))) input.add(address);
    }
    for (let next = unread.shift(); next; next = unread.shift()) {
      characters -= next.text.length;
      await remember(next);
    }
  };
  return {
    add(text, asked = null) {
      unread.push({ text, asked });
      characters += text.length;
      while (characters > UNREAD_CHARACTERS_MAX) characters -= unread.shift()!.text.length;
    },
    addInput(text) {
      inputs.push(text);
    },
    async has(url) {
      const address = normalizeAddress(url);
      if (address === null) return false;
      // One after another: what they ask for is read once.
      reading = reading.then(readAll);
      await reading;
      return isKnown(address);
    },
  };
}

/**
 * What a model made up and said to a tool: should the tool say it again, with or without something
 * behind it, it still came from the model. `example.com/page` may become an address on the way.
 */
async function listInvented(
  asked: string,
  isKnown: (address: string) => boolean,
): Promise<string[]> {
  const invented = new Set<string>();
  for (const list of [listAddresses, listBareAddresses]) {
    for await (const address of readInTurns(list(asked))) {
      if (!isKnown(address)) invented.add(address);
      if (invented.size > INVENTED_MAX) return [...invented];
    }
  }
  return [...invented];
}

/** The addresses of some places in each turn of the event loop. */
async function* readInTurns(places: Iterable<readonly string[]>): AsyncGenerator<string> {
  let count = 0;
  for (const addresses of places) {
    if (count++ % PLACES_A_TURN === 0) await createSerialQueue();
    yield* addresses;
  }
}

class Generation {
  private readonly addresses = new Set<string>();
  private characters = 0;

  get isFull(): boolean {
    return this.addresses.size >= ADDRESSES_MAX || this.characters >= ADDRESSES_CHARACTERS_MAX;
  }

  has(address: string): boolean {
    return this.addresses.has(address);
  }

  add(address: string): void {
    if (this.isFull || this.addresses.has(address)) return;
    this.addresses.add(address);
    this.characters += address.length;
  }
}
