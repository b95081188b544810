// The first lines of the program: puts the process in order, then runs the command line.
import { prepareProcess } from "./platform/process.ts";

prepareProcess();
// Only now: what the environment could do to the process is undone before anything else is loaded.
const { runCommand } = await import("./cli/index.ts");
// Whatever still hangs on, a pooled socket or a thread, must not keep the program from ending.
process.exit(await runCommand(process.argv.slice(2)));
