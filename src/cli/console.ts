// `wadi console`: a link that signs in to the console once.
import { type Admin, nameLocalActor, perform, sessionOperations } from "../admin/index.ts";
import type { Settings } from "../settings/index.ts";
import { type Command, type CommandInput, readText } from "./command.ts";
import { call } from "./operations.ts";
import { findServer } from "./remote.ts";
import { placeServer, readGivenSettings } from "./settings.ts";

/** Hosts that a server listens on, and that no browser can open. */
const WILDCARDS = ["0.0.0.0", "[::]"];

/** Paths of pages that take a token. */
type LinkedPage = "" | "a";

/** Writes the link of a token; `url` is the server's own address. */
export function writeConsoleLink(
  { operator }: Settings,
  url: string,
  token: string,
  page: LinkedPage = "",
): string {
  const scheme = new URL(url).protocol;
  const address = operator.listen === "" ? url : `${scheme}//${operator.listen}`;
  const { origin, hostname } = new URL(operator.public_url || address);
  const host = WILDCARDS.includes(hostname) ? origin.replace(hostname, "127.0.0.1") : origin;
  return `${host}/console/${page}#${token}`;
}

/** Makes a link for an operator, by default the one of the system's user. */
export async function linkConsole(
  admin: Admin,
  settings: Settings,
  { url, as }: { url: string; as?: string },
): Promise<string> {
  const request = as === undefined ? {} : { as };
  const { token } = await perform(admin, sessionOperations.createLink, request, nameLocalActor());
  return writeConsoleLink(settings, url, token);
}

/** Writes the link of a token that the server of the command has made. */
export function writeLink(input: CommandInput, token: string, page: LinkedPage = ""): string {
  const remote = findServer(input);
  if (remote) return `${remote.url}/console/${page}#${token}`;
  const settings = readGivenSettings(input, { wantsApiKeys: false });
  return writeConsoleLink(settings, placeServer(settings), token, page);
}

export const commands: readonly Command[] = [
  {
    name: "console",
    flags: {
      as: { takes: "NAME", help: "operator to sign in (default of your name, made if missing)" },
    },
    help: "Print a link that signs in to the console once, within 30 minutes",
    example: "wadi console --as noura",
    async run(input, output) {
      const request = { as: readText(input, "as") };
      const link = await call(input, sessionOperations.createLink, request);
      const url = writeLink(input, link.token);
      output.say(`signs in ${link.operator} (${link.role}) once, within 30 minutes:`);
      output.print({ ...link, url }, `${url}\n`);
      return 0;
    },
  },
];
