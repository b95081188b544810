// Times of a lease, in their order: each leaves room for the one before it.

/** Interval of heartbeats. */
export const BEAT_EVERY_MS = 2_000;
/** Age of the last good heartbeat from which a process begins no effect. */
export const FENCED_AFTER_MS = 6_000;
/** Silence after which the others take a process for dead, each by its own clock. */
export const DEAD_AFTER_MS = 10_000;
/** Silence after which the watchdog ends a process whose event loop hangs. */
export const HUNG_AFTER_MS = 15_000;
