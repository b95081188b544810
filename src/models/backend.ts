// What stands behind one model: its servers, how they are asked, and whether they would answer.

import type { TrustedEgress } from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { ModelSettings } from "../settings/index.ts";
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
import { rootOf, writeHeaders } from "./providers/openai/request.ts";
import { withoutReasoning } from "./providers/reasoning.ts";
import { createStub } from "./providers/stub/provider.ts";
import { createTokenCount } from "./providers/token-count.ts";
import { createHealthCheck, isWatched, nameHealth } from "./replicas/health.ts";
import { createReplicas, type Replicas } from "./replicas/replicas.ts";
import { countPromptTokens } from "./tokens.ts";

export interface Backend {
  complete: Complete;
  countTokens: CountTokens;
  /** True: it is known that nobody would answer, and there is nothing that could start them. */
  isDown(): boolean;
  /** Begins to watch its servers. */
  start(): void;
  /** Watches no more; requests under way go on. */
  stop(): void;
}

export interface BackendOptions {
  egress: TrustedEgress;
  clock: Clock;
  ids: Ids;
  log: Log;
  units: ManagedServers;
}

/** How what stands behind a model comes about. */
export type OpenBackend = (model: ModelSettings, around: BackendOptions) => Backend;

/** Opens what a model's settings say; nothing is asked before its start. */
export function openBackend(model: ModelSettings, around: BackendOptions): Backend {
  const { forgive, ...servers } = openServers(model, around);
  const unit = around.units.open(model);
  if (!unit) return servers;
  // What sleeps is not looked at, and what was held against them was their sleep.
  const listener = {
    onUp() {
      forgive();
      servers.start();
    },
    onDown: servers.stop,
  };
  return {
    ...waitForStart(unit, around.clock, servers),
    // Whoever asks has it started: gateway.states.model_status
    isDown: () => false,
    start: () => unit.hold(listener),
    stop() {
      unit.release(listener);
      servers.stop();
    },
  };
}

type Servers = Backend & Pick<Replicas<CompleteAttempt>, "forgive">;

/** The servers of a model, which are taken to run. */
function openServers(model: ModelSettings, { clock, ids, egress, log }: BackendOptions): Servers {
  const { id, upstream, capabilities } = model;
  if (upstream.kind === "stub") {
    const stub = createStub({ ...upstream, clock, ids });
    return {
      // What it is told to say is never a thought.
      complete: withoutReasoning(stub, { reasons: false, thought_opens: "reply" }),
      countTokens: async (ask) => countPromptTokens(ask),
      isDown: () => false,
      forgive() {},
      start() {},
      stop() {},
    };
  }
  const reasons = capabilities.includes("reasoning");
  const thinking = { reasons, thought_opens: upstream.thought_opens };
  const options = { ...upstream, egress, clock, ids };
  const { connect_timeout_ms } = upstream;
  const headers = writeHeaders(upstream);
  /** It stands beside `/v1`, and is asked for with the same key. */
  const openLook = (url: string) => {
    return createHealthCheck(
      egress.open(rootOf(url) + nameHealth(upstream), { headers, connect_timeout_ms }),
    );
  };
  const servers = upstream.urls.map((url) => ({
    name: new URL(url).host,
    server: withoutReasoning(createOpenaiProvider({ ...options, url }), thinking),
    look: isWatched(model) ? openLook(url) : null,
  }));
  const { ask, ...replicas } = createReplicas(servers, { ...upstream, model: id, clock, log });
  return { ...replicas, complete: answerBy(ask), countTokens: createTokenCount(options) };
}

/** As soon as a piece was heard nobody else can take over. */
function answerBy(askReplicas: Replicas<CompleteAttempt>["ask"]): Complete {
  return (ask, onChunk, signal) => {
    const { account } = ask;
    return askReplicas<CompletionOk>({ account, signal }, (attempt, heard, left_ms) => {
      const hear: OnChunk = (piece) => {
        heard();
        return onChunk(piece);
      };
      return attempt(ask, hear, signal, left_ms);
    });
  };
}
