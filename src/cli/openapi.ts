// `wadi openapi`: the OpenAPI 3.1.0 document of this program.
import { createSystemClock } from "../platform/clock.ts";
import { createSystemIds } from "../platform/ids.ts";
import { createLog } from "../platform/log.ts";
import { defaultSettings } from "../settings/index.ts";
import type { Command, CommandInput } from "./command.ts";
import type { Output } from "./output.ts";
import { readNamedSettings } from "./settings.ts";
import { VERSION } from "./version.ts";

export async function writeOpenapi(input: CommandInput, output: Output): Promise<number> {
  const { buildApp } = await import("../app.ts");
  const clock = createSystemClock();
  const app = await buildApp({
    settings: readNamedSettings(input) ?? defaultSettings(),
    place: { kind: "memory" },
    clock,
    ids: createSystemIds(),
    log: createLog(clock, (line) => output.say(line.trimEnd()), true),
    version: VERSION,
    secrets_key_file: null,
    onFatal: () => {},
  });
  const response = await app.entrance.answer(new Request("http://localhost/openapi.json"));
  const document = await response.json();
  output.print(document, `${JSON.stringify(document, null, 2)}\n`);
  await app.stop(0);
  return 0;
}

export const commands: readonly Command[] = [
  {
    name: "openapi",
    args: [],
    flags: {},
    help: "Print the OpenAPI 3.1.0 document",
    example: "wadi openapi > openapi.json",
    run: writeOpenapi,
  },
];
