// The channel that tells processes of another place that counts.
export const MOVED = "counters";
