// The verbs that keep an installation going, and tell what it is.
import type { Verb } from "../verb.ts";

export const upkeepVerbs: readonly Verb[] = [
  {
    name: "secrets rotate",
    args: [],
    flags: {
      "give-up": { help: "deletes what no key at hand opens, so that it can be set again" },
    },
    help: "a new secrets key, for all that is stored",
    run: async (given, output) => (await import("../secrets.ts")).rotateSecrets(given, output),
  },
  {
    name: "sweep",
    args: [],
    flags: { now: { help: "deletes now what `[retention]` no longer keeps, by this clock" } },
    help: "deletes old rows, or says when it last did",
    run: async (given, output) => (await import("../sweep.ts")).sweep(given, output),
  },
  {
    name: "usage",
    args: [],
    flags: {
      by: { takes: "WHAT", help: "day, account, key, model or route (default day)" },
      from: { takes: "DATE", help: "the first day, in UTC (default 30 days with the last one)" },
      to: { takes: "DATE", help: "the last day (default today)" },
    },
    help: "what was used, by account, model, route …",
    run: async (given, output) => (await import("../usage.ts")).showUsage(given, output),
  },
  {
    name: "openapi",
    args: [],
    flags: {},
    help: "the OpenAPI 3.1.0 document",
    run: async (given, output) => (await import("../openapi.ts")).writeOpenapi(given, output),
  },
  {
    name: "version",
    args: [],
    flags: {},
    help: "version, commit, Bun and SQLite versions",
    run: async (given, output) => (await import("../version.ts")).showVersion(given, output),
  },
];
