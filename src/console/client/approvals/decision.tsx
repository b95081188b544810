// The decision: approve, reject with a reason, or answer in place of the tool.
import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ApiFailure, post } from "../api.ts";
import { writeRecent } from "../format.ts";
import { useKeys } from "../keyboard.ts";
import { now } from "../live.ts";
import { FailureNote, Icon, Outside } from "../parts.tsx";
import { t } from "../texts.ts";
import type { ApprovalDetail } from "./data.ts";
import { nameDecider } from "./list.tsx";

/** Time within which the second press of A approves. */
const AGAIN_MS = 3_000;
const REASON_CHARACTERS_MAX = 1_000;
/** The rest of a reason behind the words that mark an answer. */
const ANSWER_CHARACTERS_MAX = 958;

type DecisionMode = "choose" | "reject" | "answer";
export type Outcome = "approved" | "rejected" | "answered";

interface DecisionProps {
  detail: ApprovalDetail;
  onDecided(outcome: Outcome, runId: string): void;
  /** Another person was faster, or its time is over. */
  onConflict(): void;
}

export function Decision({ detail, onDecided, onConflict }: DecisionProps) {
  const { id, run_id, tool, risk, status } = detail.approval;
  const mode = useSignal<DecisionMode>("choose");
  const isSending = useSignal(false);
  const failure = useSignal<ApiFailure | null>(null);
  const decide = async (outcome: Outcome, text: string) => {
    if (isSending.peek()) return;
    isSending.value = true;
    failure.value = null;
    try {
      const verb = outcome === "approved" ? "approve" : "reject";
      const field = outcome === "answered" ? "answer" : "reason";
      await post(`/approvals/${id}/${verb}`, text === "" ? {} : { [field]: text });
      onDecided(outcome, run_id);
    } catch (problem) {
      if (!(problem instanceof ApiFailure)) throw problem;
      if (problem.status === 409 || problem.status === 401) onConflict();
      else failure.value = problem;
    } finally {
      isSending.value = false;
    }
  };
  if (status !== "pending") return <Past detail={detail} />;
  const choose = (next: DecisionMode) => {
    mode.value = next;
  };
  return (
    <div class="decide-box">
      {failure.value && <FailureNote what={t("approvals.act")} failure={failure.value} isFinal />}
      {mode.value === "choose" ? (
        <Choice
          {...{ tool, isSending: isSending.value, isTyped: risk === "irreversible" }}
          onApprove={() => void decide("approved", "")}
          onMode={choose}
        />
      ) : (
        <Words
          mode={mode.value}
          isSending={isSending.value}
          onSend={(text) => {
            void decide(mode.peek() === "answer" ? "answered" : "rejected", text);
          }}
          onCancel={() => choose("choose")}
        />
      )}
    </div>
  );
}

interface ChoiceProps {
  tool: string;
  isSending: boolean;
  /** Approve needs the tool's name. */
  isTyped: boolean;
  onApprove(): void;
  onMode(mode: DecisionMode): void;
}

function Choice({ tool, isSending, isTyped, onApprove, onMode }: ChoiceProps) {
  const typed = useSignal("");
  const field = useRef<HTMLInputElement>(null);
  const isArmed = useSignal(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const press = () => {
    if (isTyped) {
      field.current?.focus();
      return;
    }
    clearTimeout(timer.current);
    if (isArmed.peek()) {
      isArmed.value = false;
      onApprove();
      return;
    }
    isArmed.value = true;
    timer.current = setTimeout(() => {
      isArmed.value = false;
    }, AGAIN_MS);
  };
  useKeys({ a: press, x: () => onMode("reject") });
  const isReady = !isTyped || typed.value === tool;
  return (
    <form
      class="decide"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady && isTyped) onApprove();
      }}
    >
      {isTyped && <NameField tool={tool} typed={typed} field={field} />}
      <button class="b go big" type="button" disabled={!isReady || isSending} onClick={onApprove}>
        {t("approve")}
        <kbd aria-hidden="true">A</kbd>
      </button>
      <span class="soft" role="status">
        {isArmed.value && t("approvals.again")}
      </span>
      <span class="end">
        <button class="b big" type="button" disabled={isSending} onClick={() => onMode("answer")}>
          {t("answer")}
        </button>
        <button class="b big" type="button" disabled={isSending} onClick={() => onMode("reject")}>
          {t("reject")}
          <kbd aria-hidden="true">X</kbd>
        </button>
      </span>
    </form>
  );
}

interface NameFieldProps {
  tool: string;
  typed: Signal<string>;
  field: RefObject<HTMLInputElement | null>;
}

function NameField({ tool, typed, field }: NameFieldProps) {
  return (
    <label>
      <span>
        {t("approvals.type")}{" "}
        <code>
          <b>{tool}</b>
        </code>{" "}
        {t("approvals.to_approve")}
      </span>
      <input
        class="in"
        ref={field}
        value={typed.value}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={({ currentTarget }) => {
          typed.value = currentTarget.value;
        }}
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Escape") currentTarget.blur();
        }}
      />
    </label>
  );
}

interface WordsProps {
  mode: "reject" | "answer";
  isSending: boolean;
  onSend(text: string): void;
  onCancel(): void;
}

function Words({ mode, isSending, onSend, onCancel }: WordsProps) {
  const text = useSignal("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const isAnswer = mode === "answer";
  return (
    <form
      class="decide words"
      onSubmit={(event) => {
        event.preventDefault();
        onSend(text.value.trim());
      }}
      onKeyDown={({ key }) => {
        if (key === "Escape") onCancel();
      }}
    >
      <label>
        <span>{isAnswer ? t("answer.label") : t("reason")}</span>
        <textarea
          class="in"
          ref={field}
          rows={2}
          maxLength={isAnswer ? ANSWER_CHARACTERS_MAX : REASON_CHARACTERS_MAX}
          required={isAnswer}
          dir="auto"
          value={text.value}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
          }}
        />
        <span class="dim">{isAnswer ? t("answer.hint") : t("reason.hint")}</span>
      </label>
      <span class="end">
        <button class="b big" type="button" onClick={onCancel}>
          {t("cancel")}
        </button>
        <button
          class="b go big"
          type="submit"
          disabled={isSending || (isAnswer && text.value.trim() === "")}
        >
          {isAnswer ? t("send") : t("reject")}
        </button>
      </span>
    </form>
  );
}

export type PastApproval = Pick<
  ApprovalDetail["approval"],
  "status" | "decided_by" | "decided_at" | "reason"
>;

/** Says what was decided, by whom and when. */
export function describeDecision({ status, decided_by, decided_at }: PastApproval): string {
  const at = decided_at ? writeRecent(decided_at, now.value) : "";
  if (status === "expired") return t("approvals.gone.expired", at);
  if (status === "closed" || status === "pending") return t("approvals.gone.closed");
  return t(`approvals.gone.${status}`, nameDecider(decided_by), at);
}

function Past({ detail }: { detail: ApprovalDetail }) {
  const { status, reason } = detail.approval;
  const shapes = { approved: "s-ok", rejected: "s-rejected", expired: "s-expired" };
  const shape = status in shapes ? shapes[status as keyof typeof shapes] : "s-cancelled";
  return (
    <div class="decide past" role="status">
      <span class="st mute">
        <Icon id={shape} size={12} tone={status === "approved" ? "ok" : ""} />
        <Outside text={describeDecision(detail.approval)} />
      </span>
      {reason && (
        <span class="soft">
          <Outside text={t("approvals.gone.reason", reason)} />
        </span>
      )}
    </div>
  );
}
