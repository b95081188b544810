// A process that does one case of the conformance table with the writer in a Worker: FILE METHOD.
import "./fail-points.ts";
import { extname } from "node:path";
import { bindHouses, cases } from "../store/cases.ts";
import { openTestDatabase } from "./database.ts";

const [file, method] = process.argv.slice(2) as [string, string];
// Bundled as this file is, or in its source.
const writer = new URL(`./crash-writer${extname(import.meta.path)}`, import.meta.url);
const database = await openTestDatabase({ kind: "sqlite", file, writer });
await cases.find((one) => one.method === method)!.act(bindHouses(database));
console.log("acknowledged");
process.exit(0);
