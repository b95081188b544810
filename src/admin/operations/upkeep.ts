// Operations on an installation as a whole: usage, secrets key, retention, version, checks.
import { Type } from "@sinclair/typebox";
import { oneOf } from "../../platform/schema.ts";
import { ORIGINS } from "../../settings/index.ts";
import { CheckRow } from "../installation.ts";
import { defineOperation } from "../operation.ts";
import { Resumption } from "../pause.ts";
import { InstallationStatus } from "../status.ts";
import { SweepStatus } from "../upkeep.ts";
import { UsageReport } from "../usage.ts";
import { flag, input, maybeText, NO_INPUT, usageRange } from "./fields.ts";

const INSTALLATION = "installation";

const Version = Type.Object({
  version: Type.String({ description: "Version of the program." }),
  commit: Type.String({ description: "Commit that it was built from." }),
  bun: Type.String({ description: "Version of Bun." }),
  sqlite: Type.String({ description: "Version of SQLite." }),
});

const ShownSetting = Type.Object({
  name: Type.String({ description: "Path in the file; of a model with its id." }),
  value: Type.Unsafe<unknown>({
    ...Type.Unknown(),
    description: "Value in force; `***` stands for what may be a secret.",
  }),
  origin: oneOf(ORIGINS, "Where the value comes from."),
  needs_restart: Type.Boolean({ description: "A change takes effect at the next start." }),
});

export const upkeepOperations = {
  usage: defineOperation({
    name: "usage",
    method: "GET",
    path: "/usage",
    summary: "Sum requests, tokens and cost.",
    input: input({
      by: maybeText(
        "One or two of day, hour, account, key, model, route, agent, version; `day` without. " +
          "Hours are those of at most 7 days, named by their first instant.",
      ),
      ...usageRange,
    }),
    reply: UsageReport,
    run: ({ usage }, { by = "day", ...asked }) => usage({ by, ...asked }),
  }),
  rotateSecrets: defineOperation({
    name: "secrets rotate",
    method: "POST",
    path: "/secrets/rotate",
    summary: "Seal all stored secrets under a new secrets key.",
    input: input({ give_up: flag("Delete secrets that no available key opens.") }),
    reply: Type.Object({
      is_resumed: Type.Boolean({ description: "A rotation that was cut off has been ended." }),
      resealed: Type.Integer({ description: "Secrets sealed again." }),
      given_up: Type.Integer({ description: "Secrets deleted since no key opens them." }),
    }),
    audit: { target: () => INSTALLATION },
    run: ({ secrets }, { give_up = false }) => secrets.rotate(give_up),
  }),
  readSweep: defineOperation({
    name: "sweep",
    method: "GET",
    path: "/sweep",
    summary: "Show the last deletion of old rows.",
    input: NO_INPUT,
    reply: SweepStatus,
    run: ({ sweeps }) => sweeps.readStatus(),
  }),
  sweep: defineOperation({
    name: "sweep --now",
    method: "POST",
    path: "/sweep",
    summary: "Delete rows older than `[retention]` now.",
    input: NO_INPUT,
    reply: Type.Array(
      Type.Object({
        what: Type.String({ description: "Kind of the rows." }),
        rows: Type.Integer({ description: "Deleted rows." }),
      }),
    ),
    audit: { target: () => INSTALLATION },
    run: ({ sweeps }) => sweeps.sweep(),
  }),
  resume: defineOperation({
    name: "resume",
    method: "POST",
    path: "/resume",
    summary: "End the pause of a restored installation, and say what starts.",
    input: NO_INPUT,
    reply: Resumption,
    audit: { target: () => INSTALLATION, read: ({ pause }) => pause.readState() },
    run: ({ pause }) => pause.resume(),
  }),
  status: defineOperation({
    name: "status",
    method: "GET",
    path: "/status",
    summary: "Show the state of the server, its data, its models and the work that waits.",
    input: NO_INPUT,
    reply: InstallationStatus,
    run: ({ readStatus }) => readStatus(),
  }),
  config: defineOperation({
    name: "config",
    method: "GET",
    path: "/config",
    summary: "List every setting in force with its value and origin, without secrets.",
    input: NO_INPUT,
    reply: Type.Array(ShownSetting),
    run: async ({ readConfig }) => readConfig(),
  }),
  version: defineOperation({
    name: "version",
    method: "GET",
    path: "/version",
    summary: "Show the version, commit, Bun and SQLite versions.",
    input: NO_INPUT,
    reply: Version,
    run: ({ installation }) => installation.readVersion(),
  }),
  openapi: defineOperation({
    name: "openapi",
    method: "GET",
    path: "/openapi",
    summary: "Show the OpenAPI document of the public API.",
    input: NO_INPUT,
    reply: Type.Object({}, { description: "An OpenAPI 3.1.0 document." }),
    run: ({ installation }) => installation.readDocument(),
  }),
  check: defineOperation({
    name: "check",
    method: "POST",
    path: "/check",
    summary: "Check settings, data, models and services.",
    input: NO_INPUT,
    reply: Type.Array(CheckRow),
    run: ({ installation }) => installation.check(),
  }),
};
