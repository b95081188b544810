// An entry point of the binary: a Worker that computes on callers' texts.
import { toolComputations } from "./agents/tools/computations.ts";
import { serveComputations } from "./compute/index.ts";
import { tokenComputations } from "./models/bundled-tokenizer/computations.ts";

serveComputations([...toolComputations, ...tokenComputations]);
