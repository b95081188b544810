// The Worker's side of counting with the bundled tokenizer, loaded at its first use.
import { implementTask } from "../../platform/compute/index.ts";
import { TOKENS } from "./task.ts";

export const tokenComputations = [
  implementTask(TOKENS, async ({ texts, tokens_max }) => {
    const { countBundled } = await import("./count.ts");
    return countBundled(texts, tokens_max);
  }),
];
