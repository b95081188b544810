// The last answer of an endpoint, with its time and its error.
import { When } from "../when.tsx";
import { nameAnswer, type ShownEndpoint } from "./data.ts";

export function LastAnswer({ endpoint }: { endpoint: ShownEndpoint }) {
  const { last_answer_at: at, last_answer_status, last_answer_error } = endpoint;
  return (
    <span title={last_answer_error ?? undefined}>
      {nameAnswer(last_answer_status, at !== null)}{" "}
      <span class="dim">{at && <When at={at} />}</span>
    </span>
  );
}
