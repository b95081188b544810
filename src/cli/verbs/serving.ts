// The verbs that serve, and those that set up what is served.
import type { Verb } from "../verb.ts";

const port = { takes: "N", help: "to listen on (default 8080; 0 picks a free one)" };
const allow = {
  takes: "HOST:PORT",
  multiple: true,
  help: "that agents may call though it is not public; several: several times",
} as const;

export const servingVerbs: readonly Verb[] = [
  {
    name: "dev",
    args: [],
    flags: {
      port,
      key: { takes: "TEXT", help: "of the first key (default svc_sk_dev)" },
      record: { takes: "FILE", help: "that is made and keeps what the model servers answer" },
      replay: { takes: "FILE", help: "of --record, whose answers stand in for the servers'" },
      "allow-egress": allow,
      now: { takes: "DATE", help: "that the program takes for today, such as 2027-01-05" },
    },
    help: "a local stub, in memory and with fixed keys",
    run: async (given, output) => (await import("../dev.ts")).runDev(given, output),
  },
  {
    name: "serve",
    args: [],
    flags: {
      host: { takes: "H", help: "to listen on (default 127.0.0.1)" },
      port,
      "allow-egress": allow,
      "accept-loss": { help: "starts on data that lacks commits, and says how many" },
    },
    help: "serves what wadi.toml says",
    run: async (given, output) => (await import("../serve.ts")).runServe(given, output),
  },
  {
    name: "init",
    args: ["[FILE]"],
    flags: {},
    help: "a commented wadi.toml; never over another",
    run: async (given, output) => (await import("../init.ts")).initSettings(given, output),
  },
  {
    name: "check",
    args: [],
    flags: {},
    help: "looks whether all of it would serve",
    run: async (given, output) => (await import("../check.ts")).runCheck(given, output),
  },
];
