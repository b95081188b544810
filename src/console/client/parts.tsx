// Parts that pages share: shapes of states, text from outside, sums, times, boxes.

import { signal } from "@preact/signals";
import { type ComponentChildren, Fragment } from "preact";
import type { ApiFailure } from "./api.ts";
import { splitMoney, writeExact, writeSpan } from "./format.ts";
import { splitHidden } from "./hidden.ts";
import { isPaused, liveState, now, togglePause } from "./live.ts";
import { t, unwrap } from "./texts.ts";

/** An icon or a shape of the sprite in index.html. */
export function Icon({ id, size = 16, tone }: { id: string; size?: number; tone?: string }) {
  const isShape = id.startsWith("s-");
  const classes = [isShape ? "" : "i", tone ?? "", id === "s-running" ? "spin" : ""];
  return (
    <svg class={classes.join(" ").trim()} width={size} height={size} aria-hidden="true">
      <use href={`#${id}`} />
    </svg>
  );
}

/** A state is a shape and a word; colour only repeats them. */
export function State({ shape, tone, children }: StateProps) {
  return (
    <span class={`st ${tone}`}>
      <Icon id={`s-${shape}`} size={12} />
      {children}
    </span>
  );
}

interface StateProps {
  shape: string;
  tone: "ok" | "run" | "warn" | "bad" | "over" | "mute";
  children: ComponentChildren;
}

const RUN_STATES: Record<string, Pick<StateProps, "shape" | "tone">> = {
  queued: { shape: "queued", tone: "mute" },
  running: { shape: "running", tone: "run" },
  waiting_approval: { shape: "waiting", tone: "warn" },
  succeeded: { shape: "ok", tone: "ok" },
  failed: { shape: "failed", tone: "bad" },
  cancelled: { shape: "cancelled", tone: "mute" },
  budget_exceeded: { shape: "over", tone: "over" },
};

const RUN_WORDS = {
  queued: "runs.queued",
  running: "runs.running",
  waiting_approval: "runs.waiting_approval",
  succeeded: "runs.succeeded",
  failed: "runs.failed",
  cancelled: "runs.cancelled",
  budget_exceeded: "runs.budget_exceeded",
} as const;

/** Finds shape, tone and word of a run's status. */
export function readRunState(
  status: string,
): Pick<StateProps, "shape" | "tone"> & { word: string } {
  const known = RUN_STATES[status] ?? { shape: "queued", tone: "mute" as const };
  const word = status in RUN_WORDS ? t(RUN_WORDS[status as keyof typeof RUN_WORDS]) : status;
  return { ...known, word };
}

export function RunState({ status }: { status: string }) {
  const { word, ...known } = readRunState(status);
  return <State {...known}>{word}</State>;
}

/** Text from outside: isolated, and without characters that hide. */
export function Outside({ text, cut = false }: { text: string; cut?: boolean }) {
  return (
    <bdi class={cut ? "cut" : ""} dir="auto">
      <Tagged text={unwrap(text)} />
    </bdi>
  );
}

/** Text from outside, for places that isolate it already. */
export function Tagged({ text }: { text: string }) {
  return (
    <>
      {splitHidden(text).map(({ kind, text: part }, at) =>
        kind === "text" ? (
          <Fragment key={at}>{part}</Fragment>
        ) : (
          <span class="tag ltr" key={at}>
            {part}
          </span>
        ),
      )}
    </>
  );
}

export function Money({ sum }: { sum: string | null | undefined }) {
  if (sum === null || sum === undefined) return <span class="dim">–</span>;
  const [head, rest] = splitMoney(sum);
  return (
    <span class="m">
      {head}
      <small>{rest}</small>
    </span>
  );
}

const NEAR_SHARE = 0.8;

/** A budget's bar; the sentence above it carries the numbers. */
export function BudgetBar({ used, limit, label }: { used: number; limit: number; label: string }) {
  const share = limit > 0 ? Math.min(used / limit, 1) : 1;
  const state = share >= 1 ? "bud past" : share >= NEAR_SHARE ? "bud near" : "bud";
  return (
    <span
      class={state}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={limit}
      aria-valuenow={used}
      style={{ "--v": `${share * 100}%` }}
    >
      <span />
    </span>
  );
}

interface SegmentProps<Value extends string> {
  label: string;
  value: Value;
  options: readonly { value: Value; text: string }[];
  /** Tabs show other forms of one content; else the choice filters. */
  isTabs?: boolean;
  onChange(value: Value): void;
}

/** Two to four choices side by side. */
export function Segment<Value extends string>(props: SegmentProps<Value>) {
  const { label, value, options, isTabs = false, onChange } = props;
  const buttons = options.map((option) => {
    const isChosen = option.value === value;
    const state = isTabs
      ? { role: "tab" as const, "aria-selected": isChosen }
      : { "aria-pressed": isChosen };
    return (
      <button key={option.value} type="button" {...state} onClick={() => onChange(option.value)}>
        {option.text}
      </button>
    );
  });
  return isTabs ? (
    <span class="seg" role="tablist" aria-label={label}>
      {buttons}
    </span>
  ) : (
    <span class="seg" role="group" aria-label={label}>
      {buttons}
    </span>
  );
}

/** How long ago it was, with the exact time as title. */
export function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} title={writeExact(at)}>
      {writeSpan(now.value - Date.parse(at))}
    </time>
  );
}

/** Reads its state aloud when it changes, and not each second of a wait. */
export function Live() {
  const state = liveState();
  const classes = { live: "live", paused: "live held", stale: "live stale" };
  const shown = {
    live: () => t("live.live"),
    paused: () => (state.kind === "paused" && state.held ? t("live.held", state.held) : spoken()),
    stale: () => t("live.stale", state.kind === "stale" ? writeSpan(state.sinceMs) : ""),
  };
  const spoken = () => t(`live.${state.kind}.spoken`);
  return (
    <span class={classes[state.kind]}>
      <span aria-hidden="true">{shown[state.kind]()}</span>
      <span class="vh" role="status">
        {spoken()}
      </span>
    </span>
  );
}

export function PauseButton() {
  return (
    <button
      class="b quiet"
      type="button"
      aria-pressed={isPaused.value}
      aria-label={isPaused.value ? t("live.resume") : t("live.pause")}
      onClick={togglePause}
    >
      <Icon id={isPaused.value ? "i-play" : "i-pausei"} size={14} />
    </button>
  );
}

interface FailureNoteProps {
  what: string;
  failure: ApiFailure;
  /** Caused by a person: it is not tried again by itself. */
  isFinal?: boolean;
}

/** An error code, with what the documentation says about it. */
export function CodeLink({ code }: { code: string }) {
  return (
    <a href={`/docs/errors#${code}`}>
      <code>{code}</code>
    </a>
  );
}

export function FailureNote({ what, failure, isFinal = false }: FailureNoteProps) {
  return (
    <div class="err" role="alert">
      <b>
        <Tagged text={isFinal ? t("failure.act", what) : t("failure.title", what)} />
      </b>
      <p>
        <Outside text={failure.message} />
        {failure.status > 0 && ` (${failure.status})`}{" "}
        {!isFinal && failure.againInS > 0 && t("failure.again", failure.againInS)}{" "}
        {failure.status > 0 && <CodeLink code={failure.code} />}
      </p>
      {failure.requestId && <p class="dim">{t("failure.request", failure.requestId)}</p>}
    </div>
  );
}

interface EmptyProps {
  text: string;
  command?: string;
  children?: ComponentChildren;
}

export function Empty({ text, command, children }: EmptyProps) {
  return (
    <div class="empty">
      <p>{text}</p>
      {command && <code class="ltr">{command}</code>}
      {children}
    </div>
  );
}

/** Heading of a section, with what stands at its end. */
export function Head({
  title,
  says,
  end,
}: {
  title: string;
  says?: string;
  end?: ComponentChildren;
}) {
  return (
    <div class="h">
      <h2>{title}</h2>
      {says && <span class="dim">{says}</span>}
      {end && <span class="end">{end}</span>}
    </div>
  );
}

interface Toast {
  text: string;
  href?: string;
  link?: string;
}
const TOAST_MS = 6_000;
const toast = signal<Toast | null>(null);
let toastTimer: ReturnType<typeof setTimeout> | undefined;

const hideLater = () => {
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => {
    toast.value = null;
  }, TOAST_MS);
};

/** Time after which a toast belongs to the page before. */
const FRESH_MS = 1_000;
let shownAt = 0;

/** An act may lead to another page, so that its own toast stays. */
export function leaveToast(): void {
  if (performance.now() - shownAt > FRESH_MS) toast.value = null;
}

export function showToast(next: Toast): void {
  toast.value = next;
  shownAt = performance.now();
  hideLater();
}

/** One at a time; it stays while the pointer is over it. */
export function Toaster() {
  const shown = toast.value;
  return (
    <div
      class="toasts"
      role="status"
      onMouseEnter={() => clearTimeout(toastTimer)}
      onMouseLeave={hideLater}
    >
      {shown && (
        <span class="toast">
          <Tagged text={shown.text} />
          {shown.href && <a href={shown.href}>{shown.link}</a>}
        </span>
      )}
    </div>
  );
}

function copySelected(text: string): void {
  const field = document.createElement("textarea");
  field.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

export async function copyText(text: string): Promise<void> {
  // Without HTTPS, browsers have no clipboard for scripts except on this machine.
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else copySelected(text);
  showToast({ text: t("copied") });
}
