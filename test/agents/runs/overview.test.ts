// Titles of runs, read from the begin of their stored input.
import { expect, test } from "bun:test";
import { readTitle } from "../../../src/agents/runs/overview.ts";

test.each([
  ["of one line", { message: "Pay." }, "Pay."],
  ["of several lines", { message: 'Say "hi".\nThen go.' }, 'Say "hi".'],
  ["that begins with an empty line", { message: "\nPay." }, ""],
  ["without a text, of images alone", { message: "", content: [] }, "(image)"],
])("the title of a run is the first line of its message: one %s", (_, input, title) => {
  expect(readTitle(JSON.stringify(input))).toBe(title);
});
