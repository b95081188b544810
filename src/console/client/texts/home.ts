// Sentences of the home page; `{0}` stands for a name or code that is no plain text.
import { count, writeCount } from "./plural.ts";

export const home = {
  "home.needs": "Needs a person",
  "home.nothing": "Nothing needs a person.",
  "home.running": "Running now",
  "home.running.none": "No run is active.",
  "home.running.all": "All runs",
  "home.active": (running: number, queued: number) => `${running} active, ${queued} queued`,
  "home.approvals": (number: number) => `${count(number, "approval is", "approvals are")} waiting.`,
  "home.approvals.oldest": (ago: string, left: string) =>
    `The oldest asked ${ago} ago. The next expires in ${left}.`,
  "home.approvals.open": "Open approvals",
  "home.suspects": (number: number) =>
    `${count(number, "run has", "runs have")} crashed the server twice.`,
  "home.suspects.says": "They run alone from now on.",
  "home.runs.open": "Open runs",
  "home.runs.show": "Show runs",
  "home.failed": (number: number) => `${count(number, "run", "runs")} failed in 24 hours.`,
  "home.failed.all": (first: string, last: string) =>
    first === last ? `With {0}, at ${first}.` : `With {0}, between ${first} and ${last}.`,
  "home.failed.some": (number: number, first: string, last: string) =>
    first === last
      ? `${number} of them with {0}, at ${first}.`
      : `${number} of them with {0}, between ${first} and ${last}.`,
  "home.failed.no_code": "no code",
  "home.endpoint": (since: string) => `Deliveries to {0} fail since ${since}.`,
  "home.endpoint.says": (waiting: number, status: number | null) =>
    status === null
      ? `${waiting} ${waiting === 1 ? "is" : "are"} waiting.`
      : `${waiting} ${waiting === 1 ? "is" : "are"} waiting. The last answer was ${status}.`,
  "home.endpoint.open": "Open endpoint",
  "home.disabled": (number: number) =>
    `${count(number, "endpoint was", "endpoints were")} disabled because deliveries failed.`,
  "home.disabled.open": "Open webhooks",
  "home.model.open": "Open model",
  "home.model.down": "{0} is down.",
  "home.model.down.says": "None of its replicas answers. Its requests are refused.",
  "home.model.unstarted": "{0} did not start.",
  "home.model.unstarted.says": "Its next request tries again.",
  "home.model.degraded": (down: number, all: number) => `{0} has ${down} of ${all} replicas down.`,
  "home.model.degraded.says": (up: number) =>
    up === 1 ? "Requests go to the other." : `Requests go to the other ${up}.`,
  "home.tools.changed": (number: number) =>
    `${count(number, "tool", "tools")} of {0} changed and must be accepted.`,
  "home.tools.says": "No run calls them until then.",
  "home.tools.unread": "The tools of {0} cannot be read.",
  "home.tools.open": "Open server",
  "home.budget.minute": (percent: number) =>
    `Account {0} has used ${percent} % of its budget of this minute.`,
  "home.budget.day": (percent: number) =>
    `Account {0} has used ${percent} % of its budget of today.`,
  "home.budget.month": (percent: number) =>
    `Account {0} has used ${percent} % of its budget of this month.`,
  "home.budget.says": (used: string, all: string, unit: string, left: string) =>
    `${used} of ${all} ${unit}, ${left} left.`,
  "home.budget.open": "Open budget",
  "home.measure.requests": "requests",
  "home.measure.tokens": "tokens",
  "home.paused": "This installation was restored and is paused.",
  "home.paused.says": "Runs wait until {0}.",
  "home.backup": "The last backup failed.",
  "home.backup.old": (ago: string) => `The newest backup is ${ago} old.`,
  "home.backup.open": "Read about backups",
  "home.clock": "The clock is over 7 days ahead of the data.",
  "home.clock.says": "Nothing old is deleted until it is right, or a day has passed.",
  "home.clock.open": "Read about the clock",
  "home.disk": "The disk is nearly full.",
  "home.disk.says": (free: string) => `${free} are free. New runs are refused before it is full.`,
  "home.disk.open": "Read about disk space",
  "home.certificate": (left: string) => `The server’s certificate expires in ${left}.`,
  "home.certificate.over": "The server’s certificate has expired.",
  "home.certificate.over.says": "Callers refuse to connect.",
  "home.certificate.open": "Read about certificates",
  "home.crash": "A call hung, and the watchdog ended the server.",
  "home.crash.says": (ago: string) => `That was ${ago} ago.`,
  "home.day": "Last 24 hours",
  "home.day.failed": (number: number) => `${writeCount(number)} failed`,
  "home.day.in_out": (read: string, written: string) => `${read} in, ${written} out`,
  "home.day.cost": (currency: string, unpriced: number) =>
    unpriced === 0
      ? currency
      : `${currency}, ${count(unpriced, "request", "requests")} without a price`,
  "home.day.requests": "Requests by hour. The table is on the usage page.",
  "home.day.tokens": "Tokens by hour. The table is on the usage page.",
  "home.day.costs": "Cost by hour. The table is on the usage page.",
  "home.steps": "First steps",
  "home.steps.done": (done: number, all: number) => `${done} of ${all}`,
  "home.steps.hide": "Hide",
  "home.step.done": ", done",
  "step.model": "Connect a model",
  "step.key": "Create a key",
  "step.agent": "Make an agent",
  "step.run": "Start a run",
  "step.approval": "Decide an approval",
  "sample.try": "Try an approval",
  "sample.says": "Makes a sample agent, starts a run that asks, and opens what it asks.",
  "step.events": "Send events to your service",
  "step.backup": "Make the first backup",
  "usage.measure.cost": "Cost",
  "usage.measure.tokens": "Tokens",
  "usage.measure.requests": "Requests",
  "usage.measure.runs": "Runs",
  "chart.now": "now",
  "keys.requests": "requests",
} as const;
