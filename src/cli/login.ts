// `wadi login`: keeps an operator's token for a server.
import { type Command, UsageError } from "./command.ts";
import { printRow } from "./output.ts";
import { checkToken, keepToken, readServerUrl, warnOfClearText } from "./remote.ts";
import { readSecret } from "./standard-input.ts";

export const commands: readonly Command[] = [
  {
    name: "login",
    args: ["URL"],
    help: "Keep the token of an operator for a server, from standard input",
    example: "wadi login https://wadi.example.com < token",
    async run(input, output) {
      const [typed] = input.args as [string];
      if (input.flags.server !== undefined) throw new UsageError("login takes the URL alone");
      const url = readServerUrl(typed);
      warnOfClearText(url, output);
      const token = await readSecret(output);
      await checkToken({ url, token });
      const file = keepToken({ url, token });
      output.say(`commands with \`--server ${url}\` use it; others keep using local files`);
      return printRow(output, { server: url, file });
    },
  },
];
