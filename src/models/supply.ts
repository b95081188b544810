// What stands behind one model: its servers, how they are asked, and whether they would answer.
import type { Clock } from "../platform/clock.ts";
import type { TrustedEgress } from "../platform/egress/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { ModelSettings } from "../platform/settings/index.ts";
import { createLook, isWatched, nameHealth } from "./replicas/health.ts";
import { joinReplicas, type Replicas } from "./replicas/replicas.ts";
import { countPromptTokens } from "./tokens.ts";
import { waitForUnit } from "./unit/gate.ts";
import type { Units } from "./unit/units.ts";
import { rootOf } from "./upstream/address.ts";
import type { Answer, Attempt, CountTokens, Ear, Success } from "./upstream/contract.ts";
import { createOpenai } from "./upstream/openai.ts";
import { writeHeaders } from "./upstream/openai-request.ts";
import { withoutReasoning } from "./upstream/reasoning.ts";
import { createStub } from "./upstream/stub.ts";
import { createTokenCount } from "./upstream/token-count.ts";

export interface Supply {
  answer: Answer;
  count: CountTokens;
  /** True: it is known that nobody would answer, and there is nothing that could start them. */
  isDown(): boolean;
  /** Begins to watch its servers. */
  start(): void;
  /** Watches no more; requests under way go on. */
  stop(): void;
}

export interface SupplyOptions {
  egress: TrustedEgress;
  clock: Clock;
  ids: Ids;
  log: Log;
  units: Units;
}

/** How what stands behind a model comes about. */
export type OpenSupply = (model: ModelSettings, around: SupplyOptions) => Supply;

/** Opens what a model's settings say; nothing is asked before its start. */
export function openSupply(model: ModelSettings, around: SupplyOptions): Supply {
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
    ...waitForUnit(unit, around.clock, servers),
    // Whoever asks has it started: gateway.states.model_status
    isDown: () => false,
    start: () => unit.hold(listener),
    stop() {
      unit.release(listener);
      servers.stop();
    },
  };
}

type Servers = Supply & Pick<Replicas<Attempt>, "forgive">;

/** The servers of a model, which are taken to run. */
function openServers(model: ModelSettings, { clock, ids, egress, log }: SupplyOptions): Servers {
  const { id, upstream, capabilities } = model;
  if (upstream.kind === "stub") {
    const stub = createStub({ ...upstream, clock, ids });
    return {
      // What it is told to say is never a thought.
      answer: withoutReasoning(stub, { reasons: false, thought_opens: "reply" }),
      count: async (ask) => countPromptTokens(ask),
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
    return createLook(
      egress.open(rootOf(url) + nameHealth(upstream), { headers, connect_timeout_ms }),
    );
  };
  const servers = upstream.urls.map((url) => ({
    name: new URL(url).host,
    server: withoutReasoning(createOpenai({ ...options, url }), thinking),
    look: isWatched(model) ? openLook(url) : null,
  }));
  const { ask, ...replicas } = joinReplicas(servers, { ...upstream, model: id, clock, log });
  return { ...replicas, answer: answerBy(ask), count: createTokenCount(options) };
}

/** As soon as a piece was heard nobody else can take over. */
function answerBy(askReplicas: Replicas<Attempt>["ask"]): Answer {
  return (ask, ear, signal) => {
    const { account } = ask;
    return askReplicas<Success>({ account, signal }, (attempt, heard, left_ms) => {
      const hear: Ear = (piece) => {
        heard();
        return ear(piece);
      };
      return attempt(ask, hear, signal, left_ms);
    });
  };
}
