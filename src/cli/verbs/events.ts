// The verbs of what starts runs by itself, and of what is told of them.
import type { Verb } from "../verb.ts";

export const eventsVerbs: readonly Verb[] = [
  {
    name: "listen",
    args: [],
    flags: {
      port: { takes: "N", help: "to listen on (default 4400; 0 picks a free one)" },
      secret: {
        takes: "whsec_…",
        multiple: true,
        help: "that signs what comes; several: several times",
      },
      status: { takes: "N", help: "to answer with, such as 503 for retries (default 204)" },
      json: { help: "a JSON document a line: the address, then what comes" },
    },
    help: "a local receiver that verifies webhooks",
    run: async (given, output) => (await import("../listen.ts")).runListen(given, output),
  },
];
