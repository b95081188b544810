// Entry point: prepares the process, then runs the command line.
import { prepareProcess, stayAlive } from "./platform/process.ts";

prepareProcess();
// Loaded after the preparation, which undoes what the environment could do to the process.
const { runCommand } = await import("./cli/index.ts");
// A pooled socket or a thread must not keep the program from ending.
process.exit(await stayAlive(runCommand(process.argv.slice(2))));
