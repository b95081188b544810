// In what the doors of the two halves differ: whom they let in, what they count, what they allow.
import { accountOf, type Caller } from "../access/index.ts";
import { apiError } from "../platform/errors.ts";
import type { Feature, RouteSpec } from "./route.ts";

/** What the door of a half is made with beside what every door is. */
export type SurfaceOptions = { surface: "gateway" } | ({ surface: "agents" } & AgentsGate);

interface AgentsGate {
  /** False: the operator has not opened the agent service. */
  isOpen(): boolean;
  /** False: the operator has switched it off. */
  isEnabled(feature: Feature): boolean;
  /** False: the grace period, in which a key without the scope `agents` is served. */
  enforcesScope(): boolean;
  /** Counts a request against its client's address, or refuses it. */
  limitAddress(request: Request): void;
}

export interface SurfacePolicy {
  body_bytes_max: number;
  /** Refuses what a route does not name: behind its path, and in a body where it takes none. */
  isStrict: boolean;
  /** Refuses whatever is asked of a half that its operator has not opened. */
  requireOpen(): void;
  /** Before anybody asks who calls: counts a request of its client's address, or refuses it. */
  limitAddress(request: Request): void;
  /** What a request is counted under; `route` is its verb and path. */
  nameCounter(caller: Caller, route: string): string;
  isEnabled(feature: Feature): boolean;
  /** Whether the scope that a route names is asked for now. */
  needsScope(spec: RouteSpec): boolean;
}

/** gateway.limits.body_size: chat and embeddings allow more. */
const GATEWAY_BODY_BYTES_MAX = 100 * 1024;
/** agents.limits.body_size: the hook alone allows less. */
const AGENTS_BODY_BYTES_MAX = 256 * 1024;

export function createSurfacePolicy(options: SurfaceOptions): SurfacePolicy {
  return options.surface === "agents" ? createAgentsRules(options) : GATEWAY_RULES;
}

const GATEWAY_RULES: SurfacePolicy = {
  body_bytes_max: GATEWAY_BODY_BYTES_MAX,
  isStrict: false,
  requireOpen() {},
  limitAddress() {},
  // gateway.limits.rate: all keys of an account share one counter for each route.
  nameCounter: (caller, route) => `${accountOf(caller)} ${route}`,
  isEnabled: () => true,
  needsScope: () => true,
};

function createAgentsRules({
  isOpen,
  isEnabled,
  enforcesScope,
  limitAddress,
}: AgentsGate): SurfacePolicy {
  return {
    body_bytes_max: AGENTS_BODY_BYTES_MAX,
    // agents.errors.p9: also a query is refused for an unknown field.
    isStrict: true,
    requireOpen() {
      // agents.p5, agents.errors.not_enabled
      if (!isOpen()) throw apiError("not_enabled", { message: NOT_OPEN, secondStatus: true });
    },
    // agents.limits.request_rate: the further limit, which also slows who guesses keys.
    limitAddress,
    // agents.limits.request_rate: each key by itself, all routes together.
    nameCounter: ({ key_id }) => key_id,
    isEnabled,
    // agents.authentication.2, agents.endpoints.p2: none stands for another.
    // agents.authentication.3: while the grace lasts, most routes serve a key without `agents`.
    needsScope: ({ scope, isScopeCertain }) =>
      scope !== "agents" || isScopeCertain === true || enforcesScope(),
  };
}

/** Also for the document. */
export const NOT_OPEN = "The agent service is not open.";
