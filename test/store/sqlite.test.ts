// The conformance suite on a SQLite file, written inline as the command line does.
import { openCopies } from "../support/database.ts";
import { testEngine } from "./conformance.ts";

testEngine("SQLite inline", () => openCopies());
