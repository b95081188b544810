// Reads the steps of a run as they come.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ApiFailure } from "../api.ts";
import { useResource } from "../live.ts";
import type { StepItem } from "./data.ts";

const STEPS_AT_ONCE = 200;

/** Reads the steps of a run from the first, then those that come. */
export function useSteps(id: string): {
  steps: readonly StepItem[] | null;
  failure: ApiFailure | null;
} {
  const steps = useSignal<readonly StepItem[]>([]);
  const isRead = useSignal(false);
  const after = steps.value.at(-1)?.seq ?? 0;
  const path = `/runs/${id}/steps?after=${after}&limit=${STEPS_AT_ONCE}`;
  const { data, failure } = useResource<StepItem[]>(path, ["runs"]).value;
  useEffect(() => {
    if (!data) return;
    const last = steps.peek().at(-1)?.seq ?? 0;
    const more = data.filter(({ seq }) => seq > last);
    if (more.length > 0) steps.value = [...steps.peek(), ...more];
    else isRead.value = true;
  }, [data]);
  return { steps: isRead.value ? steps.value : null, failure };
}
