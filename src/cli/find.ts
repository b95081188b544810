// `wadi find`: objects of all kinds by a part of their name or id.
import { searchOperations as operations } from "../admin/index.ts";
import type { Command } from "./command.ts";
import { call } from "./operations.ts";
import { printTable, quote } from "./output.ts";

const COLUMNS = ["kind", "name", "account", "id"];

export const commands: readonly Command[] = [
  {
    name: "find",
    args: ["TEXT"],
    help: "Find objects of all kinds by a part of their name or id",
    example: "wadi find payroll",
    async run(input, output) {
      const found = await call(input, operations.find, { text: input.args[0]! });
      const lines = found.map((row) => ({ ...row, name: quote(row.name) }));
      return printTable(output, found, COLUMNS, lines);
    },
  },
];
