// The Worker's side of the bundled tokenizer, loaded at its first use.
import { implementTask } from "../../compute/index.ts";
import { TOKENS } from "./task.ts";

export const tokenComputations = [
  implementTask(TOKENS, async ({ texts, tokensMax }) => {
    const { countBundled } = await import("./count.ts");
    return countBundled(texts, tokensMax);
  }),
];
