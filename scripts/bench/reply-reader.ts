// Reads HTTP replies off one connection and sees that they are right, at the lowest price.

export interface Expected {
  status: number;
  isStream: boolean;
  /** Text that is counted in a reply; a text chunk by default. */
  piece?: string;
  /** Fewer are a wrong reply; left out: 1. */
  pieces_min?: number;
}

export interface ReplyReader {
  /** Takes the next bytes; true when they complete a reply. */
  push(bytes: Buffer): boolean;
  /** Pieces of text in the reply so far; 1 in a JSON reply with content. */
  readonly pieces: number;
  /** First fault of the reply; empty if none. */
  readonly complaint: string;
}

const PIECE = '"content":"';
const DONE = "data: [DONE]\n\n";

/** Sees pieces of text and the end of a stream, whichever way they are cut. */
const createWatch = (piece: string) => {
  const tail_length = Math.max(DONE.length, piece.length) - 1;
  let tail = "";
  const watch = {
    pieces: 0,
    isDone: false,
    look(part: string) {
      const seen = tail + part;
      let from = 0;
      for (let at = seen.indexOf(piece); at !== -1; at = seen.indexOf(piece, from)) {
        watch.pieces++;
        from = at + piece.length;
      }
      watch.isDone ||= seen.includes(DONE);
      // The longer of the two words could have begun here.
      tail = seen.slice(Math.max(from, seen.length - tail_length));
    },
  };
  return watch;
};

/** Reader for one connection; one character represents one byte. */
export const createReplyReader = (expected: Expected): ReplyReader => {
  let text = "";
  let isHead = true;
  let isChunked = false;
  /** Bytes still to come: of the body, or of a chunk with its line end. */
  let left = 0;
  const { piece = PIECE, pieces_min = 1 } = expected;
  let watch = createWatch(piece);
  let complaint = "";

  const readHead = (): boolean => {
    const end = text.indexOf("\r\n\r\n");
    if (end === -1) return false;
    const head = text.slice(0, end + 2);
    text = text.slice(end + 4);
    if (Number(head.slice(9, 12)) !== expected.status) {
      complaint = `${head.slice(0, head.indexOf("\r"))} ${text.slice(0, 200)}`;
    }
    isChunked = /\r\ntransfer-encoding: *chunked\r/i.test(head);
    left = isChunked ? 0 : Number(/\r\ncontent-length: *(\d+)\r/i.exec(head)?.[1] ?? 0);
    isHead = false;
    watch = createWatch(piece);
    return true;
  };
  const take = () => {
    const part = text.slice(0, left);
    text = text.slice(part.length);
    left -= part.length;
    if (part !== "") watch.look(part);
  };
  const readChunks = (): boolean => {
    for (;;) {
      take();
      const end = text.indexOf("\r\n");
      if (left > 0 || end === -1) return false;
      const size = Number.parseInt(text.slice(0, end), 16);
      if (size === 0 && text.length < end + 4) return false;
      text = text.slice(size === 0 ? end + 4 : end + 2);
      if (size === 0) return true;
      left = size + 2;
    }
  };
  const readLength = (): boolean => {
    take();
    return left === 0;
  };
  return {
    push(bytes) {
      text += bytes.toString("latin1");
      if (isHead && !readHead()) return false;
      if (!(isChunked ? readChunks() : readLength())) return false;
      isHead = true;
      if (watch.pieces < pieces_min) complaint ||= "a reply without content";
      if (expected.isStream && !watch.isDone) complaint ||= "a stream without [DONE]";
      return true;
    },
    get pieces() {
      return watch.pieces;
    },
    get complaint() {
      return complaint;
    },
  };
};
