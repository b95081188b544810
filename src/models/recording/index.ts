// Recordings: what the servers of models answered, kept with its timing, and played back.

export { openRecorder } from "./recorder.ts";
export { openReplay } from "./replay-file.ts";
