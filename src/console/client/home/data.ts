// Resources that the home page reads of the operator API.
import type { ApiFailure } from "../api.ts";
import { useResource } from "../live.ts";
import { type ConsoleStatus, status } from "../status.ts";

export interface HomeModel {
  id: string;
  state: string;
  upstream: string;
  replicas: number;
  healthy_replicas: number | null;
  unit: string;
}

export interface HomeEndpoint {
  id: string;
  url: string;
  status: string;
  failing_since: string | null;
  pending_deliveries: number;
  /** Status of the last answer; absent where the server does not tell it. */
  last_status?: number | null;
}

export interface AccountBudget {
  account: string;
  measure: "requests" | "tokens" | "cost";
  period: "minute" | "day" | "month";
  maximum: number | string;
  used: number | string;
  resets_at: string;
}

export interface FailureCounts {
  runs: number;
  code: string | null;
  code_runs: number;
  first_at: string | null;
  last_at: string | null;
}

export interface HomeToolServer {
  id: string;
  name: string;
  problem?: string | null;
  /** Tools that wait to be accepted. */
  changed: number;
}

export interface HomeData {
  status: ConsoleStatus;
  failures: FailureCounts | null;
  models: readonly HomeModel[];
  endpoints: readonly HomeEndpoint[];
  limits: readonly AccountBudget[];
  toolServers: readonly HomeToolServer[];
}

export interface HomeReading {
  data: HomeData | null;
  failure: ApiFailure | null;
}

/** A part that could not be read hides no matter of the others. */
export function useHomeData(): HomeReading {
  const failures = useResource<FailureCounts>("/failures", ["runs"]);
  const models = useResource<HomeModel[]>("/models", ["models"]);
  const endpoints = useResource<HomeEndpoint[]>("/webhooks", ["webhooks"]);
  const limits = useResource<AccountBudget[]>("/limits", ["accounts", "requests"]);
  const toolServers = useResource<HomeToolServer[]>("/tools/servers", ["agents"]);
  const parts = [status, failures, models, endpoints, limits, toolServers];
  const failure = parts.find(({ value }) => value.failure)?.value.failure ?? null;
  if (status.value.data === null) return { data: null, failure };
  return {
    data: {
      status: status.value.data,
      failures: failures.value.data,
      models: models.value.data ?? [],
      endpoints: endpoints.value.data ?? [],
      limits: limits.value.data ?? [],
      toolServers: toolServers.value.data ?? [],
    },
    failure,
  };
}
