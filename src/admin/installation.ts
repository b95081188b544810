// The installation around an admin: the program, its document and its checks.
import { type Static, Type } from "@sinclair/typebox";
import type { ReplicaCheck } from "../models/index.ts";
import { maybe, oneOf } from "../platform/schema.ts";

export const CheckRow = Type.Object({
  status: oneOf(["ok", "warn", "fail"], "`fail`: something would not serve."),
  what: oneOf(
    [
      "settings",
      "data",
      "disk",
      "secrets key",
      "backups",
      "model",
      "embeddings",
      "search",
      "clock",
    ],
    "What was checked.",
  ),
  name: Type.String({ description: "A file, a model's id, a kind or a server." }),
  url: Type.Optional(Type.String({ description: "Address of the server." })),
  says: Type.String({ description: "What was found." }),
  sight: Type.Optional(Type.Unsafe<ReplicaCheck>({ description: "What its server answered." })),
});
export type CheckRow = Static<typeof CheckRow>;

export const Crash = Type.Object(
  {
    at: Type.String({ format: "date-time", description: "End of the process." }),
    run_id: maybe(Type.String({ description: "Run whose call hung; null: unknown." })),
    call: maybe(Type.String({ description: "Call that hung; null: unknown." })),
    runs: Type.Integer({ description: "Runs that the process was executing." }),
  },
  { description: "The last process hung and was ended by its watchdog; null: it did not." },
);
export type Crash = Static<typeof Crash>;

export interface ProgramVersion {
  version: string;
  commit: string;
  bun: string;
  sqlite: string;
}

/** How the commands of a server are typed on its machine. */
export interface Commands {
  /** The program's name, or its file where the PATH has none. */
  program: string;
  /** Commands reach its data by its address alone. */
  needsServer: boolean;
}

/** The program around an admin; a command opens the database without it. */
export interface Installation {
  commands: Commands;
  readVersion(): Promise<ProgramVersion>;
  readDocument(): Promise<Record<string, unknown>>;
  check(): Promise<CheckRow[]>;
  readCrash(): Crash | null;
}
