// Recordings: what the servers of models answered, kept with its timing, and played back.
export { openReplay } from "./reading.ts";
export { openRecorder } from "./record.ts";
