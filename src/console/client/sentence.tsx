// A sentence with parts that are no plain text, such as names from outside or code.
import { type ComponentChildren, Fragment } from "preact";

const PART = /\{(\d)\}/;

/** Puts `parts` where the text of a table says `{0}`, `{1}`: another language has other places. */
export function Sentence({ text, parts }: { text: string; parts: readonly ComponentChildren[] }) {
  return (
    <>
      {text.split(PART).map((piece, at) => (
        <Fragment key={at}>{at % 2 === 0 ? piece : parts[Number(piece)]}</Fragment>
      ))}
    </>
  );
}
