// Values as the program writes them into files of people: whatever a stranger's text holds.
import { expect, test } from "bun:test";
import { parse } from "smol-toml";
import { writeValue } from "../../src/settings/index.ts";

const values: [title: string, value: unknown][] = [
  ["text", "Qwen/Qwen3-32B"],
  ["quotes, backslashes and line ends", 'a"b\\c\nd\r\te\u0000f\u007fg'],
  ["letters of other scripts", "نموذج 模型 🦙"],
  ["numbers", [0, -2.5, 100_000_000]],
  ["true and false", [true, false]],
  ["an empty list, an empty table", [[], {}]],
  ["tables in tables", { chat_template_kwargs: { enable_thinking: true } }],
  ["names that are no bare keys", { "a b": 1, "": 2, 'c"d': 3 }],
];

for (const [title, value] of values) {
  test(`${title} are read as they were written`, () => {
    expect(parse(`value = ${writeValue(value)}`).value).toEqual(value as never);
  });
}
