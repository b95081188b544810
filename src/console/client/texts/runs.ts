// Sentences of runs.
export const runs = {
  "runs.queued": "Queued",
  "runs.running": "Running",
  "runs.waiting_approval": "Waiting",
  "runs.succeeded": "Succeeded",
  "runs.failed": "Failed",
  "runs.cancelled": "Cancelled",
  "runs.budget_exceeded": "Over budget",
} as const;
