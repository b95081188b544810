// Sentences of holds on agents and accounts.
export const holds = {
  "hold.verb": "Hold",
  "hold.release": "Release",
  "hold.of": (verb: string, name: string) => `${verb} ${name}`,
  "hold.title": (name: string) => `Hold “${name}”?`,
  "hold.keep": "Let it run",
  "hold.says.agent": "New runs wait or are refused until Release. Runs under way go on.",
  "hold.says.account":
    "No run of its agents starts until Release: queued ones wait, new ones are refused, and its " +
    "triggers start none. Runs under way go on, and its keys may chat as before.",
  "hold.done": "Held. No new run starts.",
  "hold.released": "Released. The runs that waited start.",
} as const;
