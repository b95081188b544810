// Sentences of the second script's pages.
import { agents } from "./agents.ts";
import { holds } from "./holds.ts";
import { keys } from "./keys.ts";
import { mcp } from "./mcp.ts";
import { models } from "./models.ts";
import { playground } from "./playground.ts";
import { requests } from "./requests.ts";
import { triggers } from "./triggers.ts";
import { usage } from "./usage.ts";
import { webhooks } from "./webhooks.ts";

export const laterTexts = {
  ...{ ...agents, ...holds, ...triggers, ...webhooks, ...mcp, ...requests },
  ...{ ...models, ...usage, ...keys, ...playground },
} as const;
