// The conformance suite on PGlite: PostgreSQL in WebAssembly, there on every machine.
import { openEmptiedPglite } from "../support/database.ts";
import { testEngine } from "./conformance.ts";

testEngine("PGlite", openEmptiedPglite);
