// The conductor: puts the parts of the chat pipeline around a model's own answer.
import type { Answer, ServedModel } from "../../models/index.ts";
import { fitContext } from "./fit.ts";

/** What answers for a model, from the context check to its server. */
export function conductAnswer(model: ServedModel): Answer {
  const { settings, supply } = model;
  return fitContext(settings, supply.count, supply.answer);
}
