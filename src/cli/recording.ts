// The two flags of `wadi dev` with which model servers are recorded, or not needed.
import { loadRecording, type OpenSupply } from "../operator/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Settings } from "../platform/settings/index.ts";
import type { Output } from "./output.ts";
import { type Given, readText, UsageProblem } from "./verb.ts";

export interface Recording {
  /** Lines for the banner. */
  notes: readonly string[];
  /** What stands behind the models; undefined: what the settings say. */
  open(log: Log): OpenSupply | undefined;
  close(): Promise<void>;
}

const MODELS_SHOWN_MAX = 5;

/** True: no model server will be asked. */
export function isReplay(given: Given): boolean {
  if (readText(given, "replay") === undefined) return false;
  if (readText(given, "record") === undefined) return true;
  throw new UsageProblem("--record and --replay exclude each other: what is played is recorded");
}

/** Opens what the flags name, which may be nothing; the caller closes it. */
export async function openRecording(
  given: Given,
  settings: Settings,
  { clock, output }: { clock: Clock; output: Output },
): Promise<Recording> {
  const [to, from] = [readText(given, "record"), readText(given, "replay")];
  if (to !== undefined) {
    const { openRecorder } = await loadRecording();
    const recorder = await openRecorder(to, clock);
    return { notes: [`recording ${to}, which will hold prompts and replies`], ...recorder };
  }
  if (from !== undefined) {
    const { openReplay } = await loadRecording();
    const { requests, models, open } = openReplay(from);
    const strange = [...models.difference(new Set(settings.models.map(({ id }) => id)))];
    if (strange.length > 0) output.say(explainStrange(from, strange));
    const count = `${requests} ${requests === 1 ? "request" : "requests"}`;
    return { notes: [`replaying ${from} (${count})`], open: () => open, async close() {} };
  }
  return { notes: [], open: () => undefined, async close() {} };
}

function explainStrange(file: string, models: readonly string[]): string {
  const more = models.length > MODELS_SHOWN_MAX ? " …" : "";
  const shown = models.slice(0, MODELS_SHOWN_MAX).join(" ");
  return `${file} holds requests of models that the settings do not have: ${shown}${more}`;
}
