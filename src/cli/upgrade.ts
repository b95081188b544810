// `wadi upgrade`: lets the running server start the next version and give its place to it.
import { accessSync, constants, statSync } from "node:fs";
import { resolve } from "node:path";
import { isLocked } from "../database/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import {
  canTakeOver,
  connectToControl,
  placeControlSocket,
  TakeoverRefused,
} from "../takeover/index.ts";
import { type Command, UsageError } from "./command.ts";
import { explainMissingSocket } from "./control.ts";
import { printRow } from "./output.ts";
import { placeData, readGivenSettings } from "./settings.ts";

export const commands: readonly Command[] = [
  {
    name: "upgrade",
    args: ["[FILE]"],
    help: "Start FILE (default the server's own path) in place of the running server",
    example: "wadi upgrade",
    isUnsuggested: true,
    async run(input, output) {
      if (input.flags.server !== undefined) {
        throw new UsageError("upgrade works on the machine of the server only");
      }
      if (!canTakeOver) {
        throw new TakeoverRefused(
          "upgrade works on Linux only: stop the server, then start the new version",
        );
      }
      const settings = readGivenSettings(input, { wantsApiKeys: false });
      const { server } = settings;
      const [file] = input.args;
      const program = file === undefined ? null : resolve(file);
      if (program !== null) requireProgram(program);
      const path = placeControlSocket(resolve(server.data));
      const channel = await connectToControl(path, async () => null);
      if (!channel) {
        if (await isLocked(placeData(settings))) throw explainMissingSocket(server.data);
        throw new TakeoverRefused(
          `no server runs on ${server.data}: start the new version with \`wadi serve\``,
        );
      }
      await channel.requireAnswer(createSystemClock());
      const done = await channel.request<{ pid: number; replaced: number }>("upgrade", { program });
      channel.close();
      output.say("the process before ends its requests, at most until server.stop_timeout");
      return printRow(output, { pid: done.pid, replaced: done.replaced });
    },
  },
];

function requireProgram(program: string): void {
  try {
    accessSync(program, constants.X_OK);
    if (statSync(program).isFile()) return;
  } catch {
    // The same sentence says it.
  }
  throw new TakeoverRefused(`${program} is no program that may be executed`);
}
