// Status of the server: one read feeds the sidebar of every page, and the home page.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Resource, useResource } from "./live.ts";

export interface ConsoleStatus {
  version: string;
  installation: { paused_at: string | null };
  server: {
    backups: { made_at: string | null; failure: string | null } | null;
    certificate_expires_at: string | null;
  } | null;
  database: { kind: string; free_disk_bytes: number | null };
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

/** Kept while pages change, so that the sidebar's counts stay. */
export const status = signal<Resource<ConsoleStatus>>({ data: null, failure: null });

const TOPICS = ["approvals", "runs", "webhooks", "models"] as const;

/** Reads it for the sidebar; an approver may not. */
export function useStatus(mayRead: boolean): void {
  const { value } = useResource<ConsoleStatus>(mayRead ? "/status" : null, TOPICS);
  useEffect(() => {
    if (value.data || value.failure) status.value = { ...status.peek(), ...value };
  }, [value]);
}
