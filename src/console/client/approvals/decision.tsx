// The decision: approve, reject with a reason, or answer in place of the tool.
import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ApiFailure, post } from "../api.ts";
import { writeClock } from "../format.ts";
import { useKeys } from "../keyboard.ts";
import { FailureNote, Icon, showToast } from "../parts.tsx";
import { t } from "../texts.ts";
import type { ApprovalDetail } from "./data.ts";

/** Time within which the second press of A approves. */
const AGAIN_MS = 3_000;
const REASON_CHARACTERS_MAX = 1_000;

type DecisionMode = "choose" | "reject" | "answer";

export function Decision({ detail, onDecided }: { detail: ApprovalDetail; onDecided(): void }) {
  const { approval } = detail;
  const { id, tool, risk, status } = approval;
  const mode = useSignal<DecisionMode>("choose");
  const isSending = useSignal(false);
  const failure = useSignal<ApiFailure | null>(null);
  const decide = async (verb: "approve" | "reject", reason: string) => {
    if (isSending.peek()) return;
    isSending.value = true;
    try {
      await post(`/approvals/${id}/${verb}`, reason === "" ? {} : { reason });
      const done = verb === "approve" ? "approvals.done.approved" : "approvals.done.rejected";
      showToast({ text: t(done) });
      onDecided();
    } catch (problem) {
      if (!(problem instanceof ApiFailure)) throw problem;
      failure.value = problem;
    } finally {
      isSending.value = false;
    }
  };
  if (status !== "pending") return <Past detail={detail} />;
  return (
    <div class="decide-box">
      {failure.value && <FailureNote what={t("page.approvals")} failure={failure.value} />}
      {mode.value === "choose" ? (
        <Choice
          {...{ tool, isSending: isSending.value, isTyped: risk === "irreversible" }}
          onApprove={() => void decide("approve", "")}
          onMode={(next) => {
            mode.value = next;
          }}
        />
      ) : (
        <Words
          mode={mode.value}
          isSending={isSending.value}
          onSend={(text) => void decide("reject", text)}
          onCancel={() => {
            mode.value = "choose";
          }}
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
  const press = () => {
    if (isTyped) {
      field.current?.focus();
      return;
    }
    if (isArmed.peek()) {
      onApprove();
      return;
    }
    isArmed.value = true;
    setTimeout(() => {
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
      {isArmed.value && (
        <span class="soft" role="status">
          {t("approvals.again")}
        </span>
      )}
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
        onSend(text.value);
      }}
      onKeyDown={({ key }) => {
        if (key === "Escape") onCancel();
      }}
    >
      <label>
        <span>{isAnswer ? t("answer") : t("reason")}</span>
        <textarea
          class="in"
          ref={field}
          rows={2}
          maxLength={REASON_CHARACTERS_MAX}
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
        <button class="b go big" type="submit" disabled={isSending}>
          {isAnswer ? t("send") : t("reject")}
        </button>
      </span>
    </form>
  );
}

function Past({ detail }: { detail: ApprovalDetail }) {
  const { status, decided_by, decided_at, reason } = detail.approval;
  const at = decided_at ? writeClock(decided_at).slice(0, 5) : "";
  const says = {
    approved: () => t("approvals.decided", t("status.approved"), decided_by?.id ?? "", at),
    rejected: () => t("approvals.decided", t("status.rejected"), decided_by?.id ?? "", at),
    expired: () => t("approvals.expired", at),
    closed: () => t("approvals.closed"),
    pending: () => "",
  };
  return (
    <div class="decide" role="status">
      <span class="st mute">
        <Icon id={status === "approved" ? "s-ok" : "s-rejected"} size={12} />
        {says[status]()}
      </span>
      {reason && (
        <span class="soft">
          <bdi>{reason}</bdi>
        </span>
      )}
    </div>
  );
}
