// Runs a command in this process before a server that answers as a test says.
import { readArguments } from "../../src/cli/arguments.ts";
import type { CommandTable } from "../../src/cli/command.ts";
import { loadAllCommands } from "../../src/cli/families.ts";
import { createOutput } from "../../src/cli/output.ts";

interface ServedOptions {
  /** Answers by method and path, without the prefix of the operator API. */
  answer(method: string, url: URL, body: unknown): unknown;
  isJson?: boolean;
  onPrint?(text: string): void;
}

/** Returns the exit code of the command, what it prints and what it says beside. */
export async function runServed(
  name: string,
  args: readonly string[],
  { answer, isJson = false, onPrint }: ServedOptions,
) {
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      const url = new URL(request.url);
      url.pathname = url.pathname.replace("/operator/v1", "");
      const body = request.method === "POST" ? await request.json() : null;
      return Response.json(answer(request.method, url, body));
    },
  });
  const { WADI_OPERATOR_TOKEN: token } = process.env;
  process.env.WADI_OPERATOR_TOKEN = "t";
  try {
    const command = (await loadAllCommands()).find((one) => one.name === name)!;
    let text = "";
    let said = "";
    const output = createOutput(
      isJson,
      (printed) => {
        text += printed;
        onPrint?.(printed);
      },
      (told) => {
        said += told;
      },
    );
    const input = await readArguments(command, [...args, "--server", server.url.origin]);
    const code = await command.run(input, output, {} as CommandTable);
    return { code, text, said };
  } finally {
    if (token === undefined) delete process.env.WADI_OPERATOR_TOKEN;
    else process.env.WADI_OPERATOR_TOKEN = token;
    await server.stop(true);
  }
}
