// What every write tells in its cases, since a lost wake-up would only slow the service down.
import { count } from "./run-acts.ts";

/**
 * By write and title of its case: the channels and ids that the write tells there, sorted. A case
 * without a line tells nothing.
 */
export const TOLD: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "accounts.limit": {
    "changes the named limits, which its keys are found with": ["key a-1"],
  },
  "accounts.create": {},
  "accounts.createFirst": {},
  "keys.create": {},
  "keys.limit": {
    "changes the limits of the key alone": ["key k-1"],
  },
  "keys.revoke": {
    "stores the time of revocation and returns the key": ["key k-1"],
    "keeps an earlier time of revocation": ["key k-1"],
    "returns nothing for an unknown id": ["key k-1"],
  },
  "keys.update": {
    "changes the given fields of a key in force, which reads see at once": ["key k-1"],
    "sets lists, a name and an end": ["key k-1"],
  },
  "keys.noteUses": {},
  "keys.rotate": {
    "adds a new secret, and the previous one expires after the overlap": ["key k-1"],
    "keeps at most two secrets, and extends no expiry that is set": ["key k-1"],
    "keeps only the new secret without an overlap": ["key k-1"],
  },
  "holds.hold": {},
  "holds.release": {
    "ends a hold, and keeps the one of the other kind": ["runs.queued a-1"],
  },
  "operators.create": {},
  "operators.revoke": {},
  "operators.replace": {},
  "sessions.createLink": {},
  "sessions.trade": {},
  "sessions.noteSeen": {},
  "sessions.end": {},
  "sessions.sweep": {},
  "sessions.sweepLinks": {},
  "approval_links.create": {},
  "approval_links.open": {},
  "approval_links.noteSeen": {},
  "approval_links.end": {},
  "approval_links.sweep": {},
  "audit.begin": {},
  "audit.end": {},
  "audit.sweep": {},
  "installation.adopt": {},
  "installation.noteMove": {},
  "installation.resume": {
    "ends a pause once": ["installation "],
  },
  "secrets.claim": {},
  "secrets.turn": {},
  "secrets.reseal": {},
  "sweeps.begin": {},
  "sweeps.note": {},
  "models.see": {},
  "models.turn": {
    "sets one switch, and leaves the other and other models unchanged": ["model stub-1"],
    "stores a model that no server has offered": ["model stub-1"],
  },
  "models.grant": {},
  "models.ungrant": {},
  "units.note": {},
  "units.learn": {},
  "units.use": {},
  "units.beginStop": {},
  "ledger.foldDay": {},
  "ledger.add": {},
  "ledger.sweep": {},
  "budgets.reserve": {},
  "budgets.reserveWithin": {},
  "budgets.settle": {},
  "budgets.settleWithin": {},
  "budgets.recover": {},
  "budgets.recoverEpoch": {},
  "budgets.forgetUses": {},
  "budgets.sweepUse": {},
  "budgets.sweepAlerts": {},
  "agents.create": {},
  "agents.addVersion": {},
  "agents.update": {
    "updates the fields of the request, and stores the time of archiving": ["agents.archived g-1"],
    "frees a slot for an archived agent, and restores it only within the limit": [
      "agents.archived g-1",
      "agents.archived g-2",
    ],
  },
  "processes.register": {},
  "processes.beat": {},
  "processes.end": {},
  "processes.endSilent": {},
  "processes.takeLease": {},
  "processes.endLease": {},
  "processes.describe": {
    "stores what a process tells of itself, and nothing of the others": ["processes 1"],
  },
  "processes.drain": {
    "asks one live process, and leaves one that has drained as it is": [
      ...["processes 1", "processes 2", "processes 3", "processes 4"],
    ],
  },
  "processes.undrain": {
    "lets a live process serve again": ["processes 1", "processes 2", "processes 3"],
  },
  "processes.noteSkew": {
    "marks a process whose clock is wrong, and leaves an order as it is": [
      ...["processes 1", "processes 2", "processes 3"],
    ],
  },
  "processes.endDrain": {
    "marks the process that has handed over all": ["processes 1", "processes 3"],
  },
  "processes.askReload": { "asks every live process once more": ["processes "] },
  "processes.askAbout": { "changes nothing, and wakes all processes": ["processes "] },
  "counters.open": {},
  "counters.lose": {
    "begins a term in which nobody decides, once": ["counters "],
    "lets the database go on where a filling has failed": ["counters "],
  },
  "counters.report": {
    "lets the database count once all have reported, in the place of what they said before": [
      "counters ",
    ],
  },
  "counters.settle": {
    "goes on in the database when the process that fills is dead": ["counters "],
  },
  "counters.take": {},
  "counters.hold": {},
  "counters.reach": {
    "lets the last process that reaches the same Valkey server fill it": ["counters "],
  },
  "counters.fill": { "lets Valkey count, and ignores another term": ["counters "] },
  "evaluations.create": {
    "stores an evaluation with its runs, and counts its bytes": ["evaluation e-1"],
    "refuses more under way than an account may have, and more bytes": ["evaluation e-7"],
  },
  "evaluations.note": {
    "names reruns and writes assessments, each once; the last one ends the evaluation": [
      "evaluation e-1",
    ],
  },
  "evaluations.cancel": {
    "ends an evaluation that is under way": ["evaluation e-1"],
  },
  "evaluations.sweep": {},
  "runs.start": {
    "needs room for the run and its thread, to the byte, also of an account's first run": [
      ...["runs.queued a-1", "runs.queued a-2"],
    ],
    "accepts a run with its thread, its message and its number": ["runs.queued a-1"],
    "appends to an idle thread, with its taint": ["runs.queued a-1"],
    "puts a hook's body before the run's input, as external content": ["runs.queued a-1"],
    "begins a rerun's thread with a copy of another one's messages and summary": [
      "runs.queued a-1",
    ],
    "gives an idle thread to one of many concurrent starts": ["runs.queued a-1"],
    "numbers concurrent starts without a gap": ["runs.queued a-0", "runs.queued a-1"],
    "returns the first run for an identical request, for a day": [
      "runs.queued a-1",
      "runs.queued a-2",
    ],
    "accepts one of many identical concurrent requests, and returns it to all": ["runs.queued a-1"],
    "returns the first run of a repeated request, though it keeps its thread busy": [
      "runs.queued a-1",
    ],
    "refuses a run above the limit of active runs, and stores nothing of it": ["runs.queued a-1"],
    "counts a window of 24 hours to the millisecond, and returns when the next may start": [
      "runs.queued a-1",
    ],
    "counts runs up to an hour ahead of a corrected clock, and none further ahead": [
      "runs.queued a-2",
    ],
    "keeps the order of numbers and times when the clock is set back": ["runs.queued a-1"],
    "remembers requests by the current clock, and none from a clock far ahead": ["runs.queued a-1"],
    "stores a message that a column cannot hold directly": ["runs.queued a-1"],
    "refuses a run above the account's budget; active runs continue and are counted": [
      "runs.queued a-1",
    ],
  },
  "runs.cancel": {
    "ends a queued run at once, and counts it as inactive": ["run r-1", "run.ended cancelled r-1"],
    "requests the cancel of a running run once, with a step": ["run r-1", "run.cancel r-1"],
    "ends a waiting run, and closes its approvals": [
      "approval p-1",
      "approval p-2",
      "run r-1",
      "run.ended cancelled r-1",
    ],
    "announces its event where the account has an endpoint, and nowhere else": [
      "outbox a-1",
      "run a-1 at 1",
      "run a-2 at 2",
      "run.ended cancelled a-1 at 1",
      "run.ended cancelled a-2 at 2",
    ],
  },
  "runs.claim": {
    "reads the grants of its account, and the models that are off or blocked": ["run r-1"],
    "claims the oldest runs of each account in order, up to a limit for each": [
      "run r-1",
      "run r-2",
      "run r-9",
    ],
    "gives no run to two concurrent processes": [
      "run r-1",
      "run r-2",
      "run r-3",
      "run r-4",
      "run r-5",
      "run r-6",
      "run r-7",
      "run r-8",
    ],
    "leaves held runs in the queue, except those that had begun": [
      "run r-1",
      "run r-2",
      "run r-3",
      "run r-4",
    ],
  },
  "runs.claimSuspect": {
    "claims one suspect at a time, the fewest crashes first": ["run r-1", "run r-2", "run r-3"],
  },
  "runs.release": {
    "requeues a run unchanged": ["runs.queued a-1"],
  },
  "runs.reclaim": {
    "requeues the runs of dead processes, with a step": ["run r-1", "runs.queued a-1"],
    "requeues a run five times without progress, and ends it at the sixth": [
      "run r-1",
      "run.ended failed r-1",
    ],
    "closes the approvals of a run that it ends": [
      "approval p-1",
      "run r-1",
      "run.ended failed r-1",
    ],
    "counts crashes since the last step of model or tools, and names the call that hung": [
      "run r-1",
      "runs.queued a-1",
    ],
  },
  "runs.plan": {
    "writes nothing, and requests no approval, for another process's run": ["run r-1"],
    "reads the grants of its account, and the models that are off or blocked": ["run r-1"],
    "writes a round with the approvals that it requests": [
      "approval p-1",
      "approval p-2",
      "run r-1",
    ],
    "writes a repeated record once, also after later decisions": ["run r-1"],
  },
  "runs.intend": {
    "writes nothing for a cancelled run or one that another process holds": ["run r-1"],
    "stores the intent to send calls": ["run r-1"],
  },
  "runs.settle": {
    "reads the grants of its account, and the models that are off or blocked": ["run r-1"],
    "lists pending approvals in the order of their requests": ["approval p-1", "run r-1"],
    "writes results with their messages and full outputs": ["run r-1"],
    "stores texts that a column cannot hold directly": ["run r-1"],
    "writes a repeated record once, also after later decisions": ["run r-1"],
  },
  "runs.note": {
    "reads the grants of its account, and the models that are off or blocked": ["run r-1"],
    "writes a system step, and reports a requested cancel": ["run r-1"],
    "numbers steps and messages without gaps under concurrent writes": ["run r-1"],
    "writes a repeated record once, also after later decisions": ["run r-1"],
    "keeps an unknown price unknown": ["run r-1"],
  },
  "runs.storeImage": {},
  "runs.wait": {
    "releases a run, which no longer counts as active, and keeps its thread busy": ["run r-1"],
  },
  "runs.finish": {
    "ends a run with its last step, its sums and its event": ["run r-1", "run.ended succeeded r-1"],
    "adds each ended run to its day once, and an unknown price to no sum": [
      "run r-4",
      "run.ended budget_exceeded r-4",
    ],
    "numbers its steps after a concurrent cancel": ["run r-1", "run.ended succeeded r-1"],
  },
  "runs.decide": {
    "leaves an executing run to its process": ["approval p-1", "run r-1"],
    "resumes the run after its last approval is decided": [
      "approval p-1",
      "approval p-2",
      "run r-1",
      "runs.queued a-1",
    ],
    "takes effect once among concurrent decisions": ["approval p-1", "run r-1", "runs.queued a-1"],
    "refuses by the approval's status, and does not find another account's approval": [
      "approval p-1",
      "approval p-2",
      "run r-1",
      "runs.queued a-1",
    ],
  },
  "runs.expire": {
    "resumes a run whose approval expired": ["approval p-1", "run r-1", "runs.queued a-1"],
    "expires overdue approvals, and resumes their run": [
      "approval p-2",
      "run r-1",
      "runs.queued a-1",
    ],
  },
  "runs.sweep": {},
  "runs.sweepStarts": {},
  "outbox.sweep": {},
  "tools.register": {},
  "tools.revise": {},
  "tools.disable": {},
  "tools.enable": {},
  "tools.accept": {},
  "tools.setRisk": {},
  "mcp_servers.bind": {},
  "mcp_servers.create": {},
  "mcp_servers.refresh": {},
  "mcp_servers.noteProblem": {},
  "mcp_servers.claimDue": {},
  "mcp_servers.suspect": {
    "makes a server due, at most a minute after it was read": ["mcp_servers.due m-far"],
  },
  "mcp_servers.makeDue": { "makes a server due at once, once": ["mcp_servers.due m-far"] },
  "mcp_servers.remove": {},
  "connections.create": {},
  "connections.update": {},
  "connections.setSecret": {},
  "connections.remove": {},
  "connections.use": {},
  "triggers.fire": {
    "stores the fire, its run and its time": ["runs.queued a-1"],
    "by schedule stores the instant, starts a run, and sets the next instant": ["runs.queued a-1"],
    "agents.events.webhook.4: writes an event with the fire, of any outcome, and its trigger": [
      "runs.queued a-1",
    ],
    "by hand or by request keeps the next instant, and the run records both keys": [
      "runs.queued a-1",
    ],
    "changes nothing if the run cannot be written, and may be repeated": ["runs.queued a-1"],
    "is skipped while a run of the trigger is active, unless it allows overlap": [
      "runs.queued a-1",
    ],
    "agents.errors.rate_limited: is limited by the account's runs, and returns the time to retry": [
      "runs.queued a-1",
    ],
    "starts one run for concurrent requests with one id": ["runs.queued a-1"],
    "updates the one row of an id without a run, with an event each time": ["runs.queued a-1"],
    "starts a run for a limited id once the limit allows it": ["runs.queued a-1"],
    "fires an instant once among concurrent attempts": ["runs.queued a-1"],
    "follows the trigger's current schedule": ["runs.queued a-1"],
    "does not count an instant as missed that fired before the clock went back": [
      "runs.queued a-1",
    ],
    "does not count an instant as missed that fired by a denser schedule": ["runs.queued a-1"],
  },
  "triggers.realign": {},
  "triggers.create": {
    "stores a schedule, which has no secret": ["triggers.due t-1"],
    "accepts a thread of the agent, and refuses any other": ["triggers.due t-0"],
    "stores twenty concurrent ones only up to the limit": [
      "triggers.due t-0",
      "triggers.due t-1",
      "triggers.due t-2",
      "triggers.due t-3",
      "triggers.due t-4",
    ],
  },
  "triggers.change": {
    "updates the fields of the request and the next instant": ["triggers.due t-1"],
    "treats a change of the zone as a new schedule": ["triggers.due t-1"],
    "resumes for the key of the request, or without one for the previous key": [
      "triggers.due t-1",
      "triggers.due t-3",
    ],
  },
  "triggers.rotate": {},
  "triggers.remove": {},
  "triggers.pauseArchived": {},
  "triggers.sweepFires": {},
  "webhooks.create": {
    "stores an endpoint and its secret, and makes the account a listener": [
      "webhooks.endpoint w-1",
    ],
    "refuses an endpoint above the account's limit, and stores no secret": [
      "webhooks.endpoint w-5",
    ],
    "first fans out earlier events to existing endpoints, whatever the clock says": [
      "webhooks.due w-1",
      "webhooks.due w-2",
      "webhooks.endpoint w-4",
    ],
    "fans out a batch and creates nothing, until no event waits": [
      "webhooks.due w-1",
      "webhooks.due w-2",
      "webhooks.endpoint w-4",
    ],
  },
  "webhooks.update": {
    "updates the fields of the request, and leaves the rest unchanged": ["webhooks.endpoint w-1"],
    "first fans out earlier events by the old selection, then selects other kinds": [
      "webhooks.due w-1",
      "webhooks.due w-2",
      "webhooks.endpoint w-1",
    ],
    "needs no fan-out if only its URL or description changes": [
      "webhooks.due w-1",
      "webhooks.due w-2",
      "webhooks.endpoint w-1",
    ],
    "disables an endpoint, and cancels waiting deliveries and events not yet fanned out": [
      "webhooks.due w-1",
      "webhooks.due w-2",
      "webhooks.endpoint w-1",
    ],
    "enables an endpoint for later events, and resets its failures": ["webhooks.endpoint w-1"],
    "resets the failures when the URL changes, and only then": [
      "webhooks.endpoint w-1",
      "webhooks.endpoint w-2",
    ],
    "forgets the last answer when the URL changes, and only then": ["webhooks.endpoint w-1"],
  },
  "webhooks.rotate": {
    "replaces the secret, and returns until when both sign": ["webhooks.endpoint w-1"],
  },
  "webhooks.disable": {
    "disables a failing endpoint with its reason; an account without one is no listener": [
      "webhooks.due w-3",
      "webhooks.endpoint w-3",
    ],
    "fans out a batch and disables nothing while more events wait": [
      "webhooks.due w-1",
      "webhooks.due w-2",
      "webhooks.endpoint w-1",
    ],
  },
  "webhooks.remove": {
    "deletes the secret too, and leaves the deliveries to the sweep": [
      "webhooks.endpoint w-1",
      "webhooks.endpoint w-2",
    ],
  },
  "webhooks.fanOut": {
    "fans out each event to the endpoints that selected it, once and in order": [
      "webhooks.due w-1",
      "webhooks.due w-2",
    ],
    "fans out a limited batch of events, and reports when none waits": [
      "webhooks.due w-1",
      "webhooks.due w-2",
    ],
    "stores deliveries above the limit as failed, and counts only waiting ones": [
      "webhooks.due w-1",
      "webhooks.due w-2",
    ],
    "fans out nothing to a disabled endpoint": ["webhooks.due w-2"],
    "makes the deliveries of an event in the order in which its endpoints were made": [
      "webhooks.due w-1",
      "webhooks.due w-2",
      "webhooks.due w-3",
    ],
    "takes fewer events at once if each goes to many endpoints": count(100)
      .map((n) => `webhooks.due w-${n}`)
      .sort(),
  },
  "webhooks.claim": {},
  "webhooks.release": {
    "makes a dead process's deliveries due again, and returns their queues": ["webhooks.due w-1"],
    "restarts a delivery that was replayed meanwhile": ["webhooks.due w-1"],
  },
  "webhooks.settle": {
    "keeps a delivery due that was replayed while in flight, and delivered": ["webhooks.due w-1"],
    "keeps a delivery due that was cancelled and recovered while in flight, and delivered": [
      "webhooks.due w-1",
    ],
    "keeps a delivery due that was replayed while in flight, and retry": ["webhooks.due w-1"],
    "keeps a delivery due that was cancelled and recovered while in flight, and retry": [
      "webhooks.due w-1",
    ],
    "keeps a delivery due that was replayed while in flight, and failed": ["webhooks.due w-1"],
    "keeps a delivery due that was cancelled and recovered while in flight, and failed": [
      "webhooks.due w-1",
    ],
    "keeps a delivery due that was replayed while in flight, and released": ["webhooks.due w-1"],
    "keeps a delivery due that was cancelled and recovered while in flight, and released": [
      "webhooks.due w-1",
    ],
  },
  "webhooks.pull": {
    "makes deliveries with an impossibly late time due now, and leaves the rest": [
      "webhooks.due w-1",
    ],
  },
  "webhooks.test": {
    "stores an event for one endpoint only, and its delivery": ["webhooks.due w-1"],
  },
  "webhooks.replay": {
    "makes a delivered one due again: the same delivery of the same event": ["webhooks.due w-1"],
    "makes a waiting one due at once, and does not count it twice": ["webhooks.due w-1"],
    "leaves a claimed one to its process, to be sent again afterwards": ["webhooks.due w-1"],
    "restores a delivery that was cancelled while claimed": ["webhooks.due w-1"],
  },
  "webhooks.recover": {
    "makes failed and cancelled deliveries due again, except tests": ["webhooks.due w-1"],
    "takes the oldest first, up to the limit of waiting ones": ["webhooks.due w-1"],
    "takes those of the requested time range whose event is stored": ["webhooks.due w-1"],
  },
  "webhooks.sweep": {},
  "webhooks.sweepGone": {},
  "account_deletions.begin": {
    "deletes the account with keys, uses, grants and holds, and no other's": ["key k-1"],
    "takes back the reservations of requests under way, which then settle nothing": ["key k-1"],
  },
  "account_deletions.deletePart": {
    "deletes runs with their steps up to the limit, and goes on": [
      "run r-1",
      "run r-2",
      "run r-3",
      "run.cancel r-1",
      "run.cancel r-2",
      "run.cancel r-3",
    ],
  },
  "account_deletions.end": {},
};
