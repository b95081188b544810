// The decoy: it opens to what it was made of, each time, and no key of the installation opens it.
import { expect, test } from "bun:test";
import { createDecoy } from "../../../src/platform/secrets/decoy.ts";

test("it opens to its text, as often as it is asked", () => {
  const open = createDecoy("nobody's 😀");
  expect([open(), open()]).toEqual(["nobody's 😀", "nobody's 😀"]);
});
