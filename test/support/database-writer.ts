// The tests' writer: serves the program's stores and the trial store in a Worker.
import { serveWrites } from "../../src/database/index.ts";
import { trialStores } from "./trial.ts";

serveWrites(trialStores);
