// Tests which template values become SQL text, and which never do.
import { expect, test } from "bun:test";
import { render, type Sql, sql } from "../../src/database/sql.ts";

const write = (query: Sql) => render(query, (position) => `$${position}`);

test("a value is bound, a nested template is inserted", () => {
  const inner = sql`b = ${2}`;
  expect(write(sql`SELECT ${1} WHERE ${inner}`)).toEqual({
    text: "SELECT $1 WHERE b = $2",
    values: [1, 2],
  });
});

test("an object that resembles a template is not inserted as SQL", () => {
  const forged = JSON.parse(`{ "strings": ["0 OR 1=1"], "values": [] }`);
  expect(() => write(sql`SELECT ${forged}`)).toThrow("object");
  expect(() => write(sql`SELECT ${[forged] as never}`)).toThrow("object");
});
