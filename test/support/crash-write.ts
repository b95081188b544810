// A process that runs one conformance case with the writer in a Worker: FILE METHOD WRITER.
import "./fail-points.ts";
import { bindStores, cases } from "../store/cases.ts";
import { openTestDatabase } from "./database.ts";

const [file, method, path] = process.argv.slice(2) as [string, string, string];
const writer = Bun.pathToFileURL(path);

async function write(): Promise<never> {
  const database = await openTestDatabase({ kind: "sqlite", file, writer });
  await cases.find((one) => one.method === method)!.act(bindStores(database));
  console.log("acknowledged");
  process.exit(0);
}
void write();
