// Resources that the home page reads of the operator API.
import type { ApiFailure } from "../api.ts";
import { useResource } from "../live.ts";

export interface HomeStatus {
  version: string;
  installation: { paused_at: string | null };
  server: {
    backups: { made_at: string | null; failure: string | null } | null;
    certificate_expires_at: string | null;
  } | null;
  database: { free_disk_bytes: number | null };
  runs: { queued: number; running: number; waiting_approval: number; suspects: number };
  approvals: {
    pending: number;
    oldest_requested_at: string | null;
    next_expires_at: string | null;
  };
  webhooks: { waiting_deliveries: number; failing_endpoints: number; disabled_endpoints: number };
  clock: { is_doubtful: boolean };
  crash: { at: string } | null;
}

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

export interface HomeData {
  status: HomeStatus;
  failures: FailureCounts | null;
  models: readonly HomeModel[];
  endpoints: readonly HomeEndpoint[];
  limits: readonly AccountBudget[];
}

export interface HomeReading {
  data: HomeData | null;
  failure: ApiFailure | null;
}

/** A part that could not be read hides no matter of the others. */
export function useHomeData(): HomeReading {
  const status = useResource<HomeStatus>("/status", ["approvals", "runs", "webhooks", "models"]);
  const failures = useResource<FailureCounts>("/failures", ["runs"]);
  const models = useResource<HomeModel[]>("/models", ["models"]);
  const endpoints = useResource<HomeEndpoint[]>("/webhooks", ["webhooks"]);
  const limits = useResource<AccountBudget[]>("/limits", ["accounts", "requests"]);
  const parts = [status, failures, models, endpoints, limits];
  const failure = parts.find(({ value }) => value.failure)?.value.failure ?? null;
  if (status.value.data === null) return { data: null, failure };
  return {
    data: {
      status: status.value.data,
      failures: failures.value.data,
      models: models.value.data ?? [],
      endpoints: endpoints.value.data ?? [],
      limits: limits.value.data ?? [],
    },
    failure,
  };
}
