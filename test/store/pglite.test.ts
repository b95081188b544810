// The conformance suite on PGlite: PostgreSQL in WebAssembly, there on every machine.
import { openEmptiedPglite } from "../support/pglite.ts";
import { testEngine } from "./conformance.ts";

// Where a real one is given, the stores prove themselves on that, at a tenth of the price.
testEngine("PGlite", openEmptiedPglite, !process.env.WADI_TEST_POSTGRES);
