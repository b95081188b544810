// The differences between the routers of the two surfaces.
import { accountOf, type Caller } from "../access/index.ts";
import { apiError } from "../platform/errors.ts";
import type { Feature, RouteSpec } from "./route.ts";

export type SurfaceOptions = { surface: "gateway" } | ({ surface: "agents" } & AgentsGate);

interface AgentsGate {
  isOpen(): boolean;
  isEnabled(feature: Feature): boolean;
  /** Reports if keys need the scope `agents`; in the grace period they do not. */
  enforcesScope(): boolean;
  limitAddress(request: Request): Promise<void> | null;
}

export interface SurfacePolicy {
  bodyBytesMax: number;
  /** Unknown query parameters and bodies of routes without one are refused. */
  isStrict: boolean;
  requireOpen(): void;
  limitAddress(request: Request): Promise<void> | null;
  /** Returns the counter of a request; `route` is its method and path. */
  nameCounter(caller: Caller, route: string): string;
  isEnabled(feature: Feature): boolean;
  needsScope(spec: RouteSpec): boolean;
}

/** gateway.limits.body_size: chat and embeddings allow more. */
const GATEWAY_BODY_BYTES_MAX = 100 * 1024;
/** agents.limits.body_size: only hooks allow less. */
const AGENTS_BODY_BYTES_MAX = 256 * 1024;

export function createSurfacePolicy(options: SurfaceOptions): SurfacePolicy {
  return options.surface === "agents" ? createAgentsPolicy(options) : GATEWAY_POLICY;
}

const GATEWAY_POLICY: SurfacePolicy = {
  bodyBytesMax: GATEWAY_BODY_BYTES_MAX,
  isStrict: false,
  requireOpen() {},
  limitAddress: () => null,
  // gateway.limits.rate: all keys of an account share one counter for each route.
  nameCounter: (caller, route) => `${accountOf(caller)} ${route}`,
  isEnabled: () => true,
  needsScope: () => true,
};

function createAgentsPolicy({
  isOpen,
  isEnabled,
  enforcesScope,
  limitAddress,
}: AgentsGate): SurfacePolicy {
  return {
    bodyBytesMax: AGENTS_BODY_BYTES_MAX,
    // agents.errors.p9: also a query is refused for an unknown field.
    isStrict: true,
    requireOpen() {
      // agents.p5, agents.errors.not_enabled
      if (!isOpen()) throw apiError("not_enabled", { message: NOT_OPEN, isUnavailable: true });
    },
    // agents.limits.request_rate: limits addresses too, which slows the guessing of keys.
    limitAddress,
    // agents.limits.request_rate: each key has one counter for all routes.
    nameCounter: ({ key_id }) => key_id,
    isEnabled,
    // agents.authentication.2, agents.endpoints.p2: scopes do not imply each other.
    // agents.authentication.3: in the grace period most routes need no `agents`.
    needsScope: ({ scope, isScopeCertain }) =>
      scope !== "agents" || isScopeCertain === true || enforcesScope(),
  };
}

export const NOT_OPEN = "The agent service is not open.";
