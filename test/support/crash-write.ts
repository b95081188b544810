// A process that runs conformance cases: one `FILE INDEX` a line. At the fail points of its method
// it copies the file as a kill would leave it: SQLite keeps nothing of a commit in the process.
import "./fail-points.ts";
import { copyFileSync, existsSync, writeFileSync } from "node:fs";
import { bindStores, cases } from "../store/cases.ts";
import { openTestDatabase } from "./database.ts";
import { dumpDatabase } from "./database-dump.ts";

let file = "";
let method = "";

/** Before the first pass of the method and after the last, with what a reader sees then. */
function copy(point: string): void {
  const side = ["before", "after"].find((one) => point === `${method}:${one}`);
  if (side === undefined || (side === "before" && existsSync(`${file}.before`))) return;
  for (const end of ["", "-wal"])
    if (existsSync(file + end)) copyFileSync(file + end, `${file}.${side}${end}`);
  writeFileSync(`${file}.${side}.json`, JSON.stringify(dumpDatabase(file)));
}
(globalThis as { WADI_FAIL_POINTS?: unknown }).WADI_FAIL_POINTS = copy;

async function writeAll(): Promise<void> {
  for await (const line of console) {
    const [path, index] = line.split(" ") as [string, string];
    const one = cases[Number(index)]!;
    [file, method] = [path, one.method];
    const database = await openTestDatabase({ kind: "sqlite", file });
    await one.act(bindStores(database));
    await database.close();
    console.log(`acknowledged ${index}`);
  }
}
void writeAll();
