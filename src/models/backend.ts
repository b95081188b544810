// The backend of one model: its servers, how they are called, and whether they would answer.

import type { Process } from "../cluster/index.ts";
import type { TrustedEgress } from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Tracer } from "../platform/spans.ts";
import type { ModelSettings } from "../settings/index.ts";
import type { ManagedServer } from "./autostart/managed-server.ts";
import type { ManagedServers } from "./autostart/managed-servers.ts";
import { waitForStart } from "./autostart/wait-for-start.ts";
import type {
  Complete,
  CompleteAttempt,
  CompletionOk,
  CountTokens,
  OnChunk,
} from "./providers/contract.ts";
import { createOpenaiProvider } from "./providers/openai/provider.ts";
import { withoutReasoning } from "./providers/reasoning-filter.ts";
import { createStub } from "./providers/stub/provider.ts";
import { createTokenCount } from "./providers/token-count.ts";
import { traceAttempts } from "./providers/traced.ts";
import { isWatched, openReplicaCheck } from "./replicas/health.ts";
import { Replicas, type ReplicasStatus } from "./replicas/replicas.ts";
import type { SharedSlots } from "./replicas/shared-slots.ts";
import { countPromptTokens } from "./tokens.ts";

export interface Backend {
  complete: Complete;
  countTokens: CountTokens;
  isDown(): boolean;
  /** Absent where no server is asked. */
  status?(): ReplicasStatus;
  /** The server that is started on demand; absent where it always runs. */
  managed?: Pick<ManagedServer, "waiting" | "canStop" | "startNow" | "stopNow">;
  start(): void;
  /** Stops to watch them; requests under way go on. */
  stop(): void;
}

export interface BackendOptions {
  egress: TrustedEgress;
  clock: Clock;
  ids: Ids;
  log: Log;
  tracer?: Tracer | null;
  units: ManagedServers;
  process: Pick<Process, "withLease">;
  sharedSlots?: SharedSlots;
}

/** Opens the backend of a model's settings; it sends nothing before its start. */
export type OpenBackend = (model: ModelSettings, options: BackendOptions) => Backend;

export function openBackend(model: ModelSettings, options: BackendOptions): Backend {
  const servers = openServers(model, options);
  const managed = options.units.open(model);
  if (!managed) return servers;
  // Servers that sleep are not watched, and their failures came from that.
  const listener = {
    onUp() {
      servers.forgive();
      servers.start();
    },
    onDown: () => servers.stop(),
  };
  return {
    ...waitForStart(managed, options.clock, servers),
    // A request starts them: gateway.states.model_status
    isDown: () => false,
    status: servers.status,
    managed,
    start: () => managed.hold(listener),
    stop() {
      managed.release(listener);
      servers.stop();
    },
  };
}

type Servers = Backend & Pick<Replicas<CompleteAttempt>, "forgive">;

function openServers(model: ModelSettings, options: BackendOptions): Servers {
  const { clock, ids, egress, log, sharedSlots } = options;
  const { id, upstream, capabilities } = model;
  if (upstream.kind === "stub") {
    const stub = createStub({ ...upstream, clock, ids });
    return {
      // Scripted text is never reasoning.
      complete: withoutReasoning(stub, { reasons: false, thought_opens: "reply" }),
      countTokens: async (request) => countPromptTokens(request),
      isDown: () => false,
      forgive() {},
      start() {},
      stop() {},
    };
  }
  const { thought_opens } = upstream;
  const tags = { reasons: capabilities.includes("reasoning"), thought_opens };
  const provider = { ...upstream, egress, clock, ids };
  const servers = upstream.urls.map((url) => ({
    name: new URL(url).host,
    server: traceAttempts(withoutReasoning(createOpenaiProvider({ ...provider, url }), tags), {
      ...{ tracer: options.tracer, url, model: upstream.model, provider: model.provider },
    }),
    check: isWatched(model) ? openReplicaCheck(url, upstream, egress) : null,
  }));
  const replicas = new Replicas(servers, { ...upstream, model: id, clock, log, sharedSlots });
  return {
    complete: completeWith(replicas),
    countTokens: createTokenCount(provider),
    isDown: () => replicas.isDown(),
    status: () => replicas.status(),
    forgive: () => replicas.forgive(),
    start: () => replicas.start(),
    stop: () => replicas.stop(),
  };
}

function completeWith(replicas: Replicas<CompleteAttempt>): Complete {
  return (request, onChunk, signal) => {
    const { account } = request;
    return replicas.call<CompletionOk>({ account, signal }, (attempt, onBegin, leftMs) => {
      const passOn: OnChunk = (chunk) => {
        onBegin();
        return onChunk(chunk);
      };
      return attempt(request, passOn, signal, leftMs);
    });
  };
}
