// Sentences of the usage page.
export const usage = {
  "nav.gateway": "Gateway",
  "page.requests": "Requests",
  "page.models": "Models",
  "page.usage": "Usage",
  "usage.cost": "Cost",
  "usage.tokens": "Tokens",
  "usage.requests": "Requests",
  "usage.runs": "Runs",
} as const;
