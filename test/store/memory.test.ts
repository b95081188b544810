// The conformance suite in memory, as `wadi dev` runs.
import { memory } from "../support/database.ts";
import { testEngine } from "./conformance.ts";

testEngine("in memory", () => memory);
