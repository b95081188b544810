// The conformance suite on PGlite: PostgreSQL in WebAssembly, available on every machine.
import { openEmptiedPglite } from "../support/pglite.ts";
import { testEngine } from "./conformance.ts";

// With a real PostgreSQL the stores' cases run there, in a tenth of the time.
testEngine("PGlite", openEmptiedPglite, !process.env.WADI_TEST_POSTGRES);
