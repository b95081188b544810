// What can be done with a unit, and when it is to be done.

/** Starts and stops say null, or why it could not be done. */
export interface StartPlan {
  /** Whether it serves; never takes long. */
  look(): Promise<boolean>;
  /** null: somebody else starts it. `signal` gives it up. */
  start: ((signal: AbortSignal) => Promise<string | null>) | null;
  /** null: it is never stopped. */
  stop: ((signal: AbortSignal) => Promise<string | null>) | null;
  timeout_ms: number;
  /** 0: never. */
  idle_stop_ms: number;
  min_up_ms: number;
}
