// Sentences of the page that a link to approvals opens.
export const guest = {
  "guest.title": "Decide",
  "guest.link.none": "Open the link that you were sent.",
  "guest.link.used": "This link was used before, or its time is over: ask for another one.",
  "guest.link.ended": "Your link has ended, by its time or by who made it: ask for another one.",
  "guest.link.left": "You have signed out. The link works no more: to decide, ask for another one.",
  "guest.asks": (operator: string) => `${operator} asks you to decide.`,
  "guest.one": (until: string) => `This link shows this one request and works until ${until}.`,
  "guest.account": (account: string, until: string) =>
    `This link shows the requests of ${account} and works until ${until}.`,
  "guest.as": "You decide as",
  "guest.stored": "Your name and the time are stored with the decision.",
  "guest.done.approved": (at: string) => `You approved it at ${at}. The run goes on.`,
  "guest.done.rejected": (at: string) => `You rejected it at ${at}. The run goes on.`,
  "guest.list": "Requests that wait",
  "guest.list.none": "No request waits for you.",
  "guest.back": "All requests",
} as const;
