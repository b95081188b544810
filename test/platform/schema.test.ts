import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import {
  columnsOf,
  Money,
  maybe,
  Resource,
  Row,
  readRow,
  show,
  spread,
  Timestamp,
  writeRow,
} from "../../src/platform/schema.ts";

const Thing = Resource("Thing", {
  id: Type.String(),
  name: maybe(Type.String({ description: "A name." })),
  kind: Type.Union([Type.Literal("a"), Type.Literal("b")]),
  is_good: Type.Boolean(),
  tags: Type.Array(Type.String()),
  price: maybe(Money("What it costs.")),
  usage: spread({ rounds: Type.Integer(), cost: Money("So far.") }, "What it used."),
  created_at: Timestamp("When it was made."),
});
const ThingRow = Row(Thing, { epoch: Type.Integer() });

const row = {
  id: "1",
  name: null,
  kind: "a" as const,
  is_good: true,
  tags: ["x", "y"],
  price: 1_200_000,
  usage: { rounds: 3, cost: 7 },
  created_at: Date.UTC(2026, 10, 20, 17, 42),
  epoch: 9,
};

test("columns are in declared order, and a spread field has one column each", () => {
  expect(columnsOf(ThingRow).map((column) => column.name)).toEqual([
    "id",
    "name",
    "kind",
    "is_good",
    "tags",
    "price",
    "usage_rounds",
    "usage_cost",
    "created_at",
    "epoch",
  ]);
});

test("a row is read as it was written", () => {
  const values = writeRow(ThingRow, row);
  const raw = Object.fromEntries(columnsOf(ThingRow).map(({ name }, i) => [name, values[i]]));
  expect(raw).toMatchObject({ is_good: 1, tags: '["x","y"]', price: 1_200_000, usage_cost: 7 });
  expect(readRow(ThingRow, { ...raw, stranger: "not in the schema" })).toEqual(row);
});

test("a resource has its own fields only, with money and times in their wire form", () => {
  expect(show(Thing, row)).toEqual({
    id: "1",
    name: null,
    kind: "a",
    is_good: true,
    tags: ["x", "y"],
    price: "1.200000",
    usage: { rounds: 3, cost: "0.000007" },
    created_at: "2026-11-20T17:42:00.000Z",
  });
});

test("required lists the fields that are never null", () => {
  const names: unknown = Thing.required;
  expect(names).toEqual(["id", "kind", "is_good", "tags", "usage", "created_at"]);
});

test("a column that is missing or unexpectedly null is a bug, not an empty value", () => {
  expect(() => readRow(ThingRow, {})).toThrow("column id was not selected");
  expect(() => writeRow(ThingRow, { ...row, is_good: null as never })).toThrow("is_good");
});
