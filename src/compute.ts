// The third entry point of the binary: a Worker that computes on callers' texts.
import { toolComputations } from "./agents/tools/computations.ts";
import { tokenComputations } from "./models/bundled-tokenizer/computations.ts";
import { serveComputations } from "./platform/compute/index.ts";

serveComputations([...toolComputations, ...tokenComputations]);
