// How units are started, judged across the models: what excludes what, and who shares one.
import type { Problems } from "./problem.ts";
import type { ModelSettings, StartSettings } from "./settings.ts";

/** What does not fit goes to `problems`. */
export function judgeStarts(models: readonly ModelSettings[], problems: Problems): void {
  const known = new Map<string, { path: string; start: StartSettings }>();
  for (const [index, { upstream }] of models.entries()) {
    if (upstream.kind !== "openai" || !upstream.start) continue;
    const { start } = upstream;
    const path = `models[${index}].upstream.start`;
    judgeStart(start, path, problems);
    const name = nameUnit(start);
    const other = known.get(name);
    if (!other) known.set(name, { path, start });
    else if (!Bun.deepEquals(other.start, start)) {
      problems.add(path, `is the same unit as ${other.path}, so all of it must be the same`);
    }
  }
}

/** Two models whose servers are started in the same way and found at the same place share one. */
export function nameUnit({ request, command, health }: StartSettings): string {
  return JSON.stringify([request, command, health]);
}

function judgeStart(start: StartSettings, path: string, problems: Problems): void {
  const { request, command, stop, stop_command, idle_stop_ms } = start;
  const isStarted = request !== "" || command.length > 0;
  const isStopped = stop !== "" || stop_command.length > 0;
  const stopField = stop === "" ? `${path}.stop_command` : `${path}.stop`;
  if (request !== "" && command.length > 0) {
    problems.add(`${path}.command`, "cannot stand beside request");
  }
  if (stop !== "" && stop_command.length > 0) {
    problems.add(`${path}.stop_command`, "cannot stand beside stop");
  }
  if (isStopped && !isStarted) {
    problems.add(stopField, "needs request or command: nothing would start it again");
  }
  if (idle_stop_ms > 0 && !isStopped) {
    problems.add(`${path}.idle_stop`, "needs stop or stop_command");
  }
}
