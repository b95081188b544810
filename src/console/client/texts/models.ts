// Sentences of the page of models.
import { count, writeCount } from "./plural.ts";

export const models = {
  "models.count": (models: number) => count(models, "model", "models"),
  "models.empty": "There is no model yet. A model of the settings is listed here.",
  "models.model": "Model",
  "models.in_flight": "In flight",
  "models.p50": "First token p50",
  "models.p95": "p95",
  "models.speed": "Tokens/s",
  "models.day": "24 hours",
  "models.price": "SAR per M",
  "models.no_price": "no price",
  "models.callers": "Who may call it",
  "models.action": "Action",
  "models.default": "default",
  "models.external": "external",
  "models.built_in": "built in",
  "models.unknown": "unknown",
  "models.of": (most: number) => `of ${writeCount(most)}`,
  "models.load": (name: string) => `In flight at ${name}`,
  "models.more": (id: string) => `More of ${id}`,
  "models.requests": "Show requests",
  "models.state.on": "On",
  "models.state.off": "Off",
  "models.state.blocked": "Blocked",
  "models.state.starting": "Starting",
  "models.state.stopping": "Stopping",
  "models.state.asleep": "Asleep",
  "models.state.stopped": "Stopped",
  "models.state.failed": "Not started",
  "models.state.down": "Down",
  "models.state.degraded": "Degraded",
  "models.state.ready": "Ready",
  "models.state.passed": "Failing",
  "models.by.off": (at: string) => `turned off by {0}, ${at}`,
  "models.by.block": (at: string) => `blocked by {0}, ${at}`,
  "models.no_requests": "no requests",
  "models.wait": (requests: number) =>
    requests === 1 ? "1 request waits" : `${writeCount(requests)} requests wait`,
  "models.waiting": (requests: number) => `${writeCount(requests)} waiting for a place`,
  "models.server.down": "It does not answer its health checks.",
  "models.server.passed": "It failed often. Others are asked first, and it is tried again.",
  "models.unit.failed": "Its last start failed. The next request tries again.",
  "models.unit.starting": (since: string | null, usual: string | null) =>
    [
      since === null ? "" : `Started ${since} ago.`,
      usual === null ? "How long it takes is not known yet." : `Usually ready after ${usual}.`,
    ]
      .join(" ")
      .trim(),
  "models.unit.asleep": (usual: string | null) =>
    usual === null
      ? "The next request starts it."
      : `The next request starts it. Usually ready after ${usual}.`,
  "models.callers.every": "Every key",
  "models.callers.internal": "Only the platform",
  "models.callers.none": "Nobody yet",
  "models.callers.count": (accounts: number) => `${writeCount(accounts)} accounts`,
  "models.fact.window": "Context window",
  "models.fact.output": "Longest reply",
  "models.fact.capabilities": "Can",
  "models.fact.provider": "Provider",
  "models.fact.visibility": "Visibility",
  "models.act.on": "Turn on",
  "models.act.off": "Turn off",
  "models.act.block": "Block",
  "models.act.unblock": "Unblock",
  "models.act.start": "Start",
  "models.act.stop": "Stop",
  "models.act_on": (act: string, id: string) => `${act} ${id}`,
  "models.done.on": (id: string) => `${id} is on.`,
  "models.done.off": (id: string) => `${id} is off.`,
  "models.done.block": (id: string) => `${id} is blocked.`,
  "models.done.unblock": (id: string) => `${id} is no longer blocked.`,
  "models.done.start": (id: string) => `${id} is being started.`,
  "models.done.stop": (id: string) => `${id} is being stopped.`,
  "models.keep": "Keep it",
  "models.ask.off": (id: string) => `Turn off “${id}”?`,
  "models.ask.off.says": (requests: number) =>
    `It is listed as offline, and its requests get 503 until it is on again. ${underWay(requests)}`,
  "models.ask.block": (id: string) => `Block “${id}”?`,
  "models.ask.block.says": (requests: number) =>
    `It is no longer listed, and its requests get 503 until it is unblocked. ${underWay(requests)}`,
  "models.ask.stop": (id: string) => `Stop the server of “${id}”?`,
  "models.ask.stop.says": (requests: number) =>
    requests === 0
      ? "Its next request starts it again."
      : `${count(requests, "request under way breaks", "requests under way break")} off. ` +
        "Its next request starts it again.",
  "models.ask.default": "It is the default: requests that name no other model are refused, too.",
  "models.services": "Embeddings and search",
  "models.service": "Service",
  "models.service.embeddings": "Embeddings",
  "models.service.search": "Search",
  "models.kind": "Kind",
  "models.took": "Took p50",
  "models.callers.scope": (scope: string) => `Keys with the scope ${scope}`,
  "models.matrix": "Who may call what",
  "models.matrix.none": "No account has such a name.",
  "models.matrix.cut": (shown: number, all: number) =>
    `${writeCount(shown)} of ${writeCount(all)} accounts are shown. Search for another.`,
  "models.find_account": "Find an account by its name",
  "models.account": "Account",
  "models.may.public": "public",
  "models.may.granted": "granted",
  "models.may.not_granted": "not granted",
  "models.may.internal": "internal",
  "models.cell": (model: string, account: string, may: string) => `${model} for ${account}: ${may}`,
  "models.grant": "Grant",
  "models.granted": (account: string, model: string) => `${account} may call ${model}.`,
  "models.ungranted": (account: string, model: string) => `${account} may not call ${model}.`,
  "models.take": "Take back",
  "models.keep_grant": "Keep the grant",
  "models.take.ask": (model: string, account: string) => `Take “${model}” from ${account}?`,
  "models.take.says": "The account’s next request to it is refused. You can grant it again.",
  "keys.open_model": "open",
} as const;

function underWay(requests: number): string {
  return requests === 0
    ? "Nothing is under way."
    : `${count(requests, "request", "requests")} under way may end.`;
}
