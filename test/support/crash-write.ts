// A process that runs conformance cases: one `FILE METHOD` a line. At the fail points of a case it
// copies the file as a kill would leave it: SQLite keeps nothing of a commit in the process.
import "./fail-points.ts";
import { copyFileSync, existsSync } from "node:fs";
import { bindStores, cases } from "../store/cases.ts";
import { openTestDatabase } from "./database.ts";

let file = "";
let method = "";

/** Before the first pass of the method, and after the last. */
function copy(point: string): void {
  const side = ["before", "after"].find((one) => point === `${method}:${one}`);
  if (side === undefined || (side === "before" && existsSync(`${file}.before`))) return;
  for (const end of ["", "-wal"])
    if (existsSync(file + end)) copyFileSync(file + end, `${file}.${side}${end}`);
}
(globalThis as { WADI_FAIL_POINTS?: unknown }).WADI_FAIL_POINTS = copy;

async function writeAll(): Promise<void> {
  for await (const line of console) {
    [file, method] = line.split(" ") as [string, string];
    const database = await openTestDatabase({ kind: "sqlite", file });
    await cases.find((one) => one.method === method)!.act(bindStores(database));
    await database.close();
    console.log(`acknowledged ${method}`);
  }
}
void writeAll();
