// Every verb there is, in the order of the help; what a verb does is loaded when it runs.
import type { Verb } from "./verb.ts";
import { accessVerbs } from "./verbs/access.ts";
import { agentsVerbs } from "./verbs/agents.ts";
import { eventsVerbs } from "./verbs/events.ts";
import { modelsVerbs } from "./verbs/models.ts";
import { servingVerbs } from "./verbs/serving.ts";
import { toolsVerbs } from "./verbs/tools.ts";
import { upkeepVerbs } from "./verbs/upkeep.ts";

export const VERBS: readonly Verb[] = [
  ...servingVerbs,
  ...accessVerbs,
  ...agentsVerbs,
  ...toolsVerbs,
  ...eventsVerbs,
  ...modelsVerbs,
  ...upkeepVerbs,
];
