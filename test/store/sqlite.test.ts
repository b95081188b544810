// The conformance suite on a SQLite file, written inline as by the command line.
import { openCopies } from "../support/database.ts";
import { testEngine } from "./conformance.ts";

testEngine("SQLite inline", () => openCopies());
