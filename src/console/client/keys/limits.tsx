// Limits of an account or a key: bars of their use, and the dialog that sets and removes them.
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { call } from "../api.ts";
import { writeCommand } from "../curl.ts";
import { Dialog } from "../dialog.tsx";
import { useResource } from "../live.ts";
import { BudgetBar, showToast } from "../parts.tsx";
import { t } from "../texts.ts";
import { type LimitId, type LimitLine, MEASURES, PERIODS } from "./data.ts";
import { CommandLine } from "./form.tsx";

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const money = new Intl.NumberFormat("en-GB", { minimumFractionDigits: 2 });
const month = new Intl.DateTimeFormat("en-GB", { month: "long" });
const HALF_MONTH_MS = 14 * 86_400_000;

const writeAmount = (amount: number | string): string =>
  typeof amount === "string" ? money.format(Number(amount)) : compact.format(amount);

function nameLimit({ name, starts_at }: LimitLine): string {
  switch (name) {
    case "requests_month":
    case "tokens_month":
    case "cost_month":
      // The zone of the service may be far from that of the reader.
      return t(`limit.${name}`, month.format(Date.parse(starts_at) + HALF_MONTH_MS));
    default:
      return t(`limit.${name}`);
  }
}

function LimitBar({ limit }: { limit: LimitLine }) {
  const { used, maximum } = limit;
  const label = nameLimit(limit);
  return (
    <div class="lim">
      <span title={`${used} / ${maximum}`}>
        {label} <b>{writeAmount(used)}</b>{" "}
        <span class="dim">{t("limits.of", writeAmount(maximum))}</span>
      </span>
      <BudgetBar used={Number(used)} limit={Number(maximum)} label={label} />
    </div>
  );
}

export function LimitBars({ limits }: { limits: readonly LimitLine[] }) {
  if (limits.length === 0) {
    return (
      <div class="lims">
        <span class="dim lim">{t("limits.none")}</span>
      </div>
    );
  }
  return (
    <div class="lims">
      {limits.map((limit) => (
        <LimitBar key={limit.name} limit={limit} />
      ))}
    </div>
  );
}

export interface LimitOwner {
  /** Name that people read. */
  name: string;
  /** Path of its limits in the operator API. */
  path: string;
  /** Words of the command that changes them. */
  command: readonly string[];
}

type LimitDraft = Readonly<Partial<Record<LimitId, string>>>;

/** Only what differs is sent; null removes a limit. */
function findChanges(draft: LimitDraft, limits: readonly LimitLine[]) {
  const before = new Map(limits.map(({ name, maximum }) => [name, Number(maximum)]));
  const changes: [LimitId, number | string | null][] = [];
  for (const [field, text] of Object.entries(draft)) {
    const name = field as LimitId;
    const old = before.get(name) ?? null;
    if (text === "" ? old === null : Number(text) === old) continue;
    const amount = name.startsWith("cost_") ? text : Number(text);
    changes.push([name, text === "" ? null : amount]);
  }
  return changes;
}

interface LimitDialogProps {
  subject: LimitOwner;
  onDone(): void;
  onClose(): void;
}

export function LimitDialog({ subject, onDone, onClose }: LimitDialogProps) {
  const { name, path, command } = subject;
  const { value } = useResource<{ limits: LimitLine[] }>(path);
  const limits = value.data?.limits;
  const draft = useSignal<LimitDraft>({});
  const changes = limits ? findChanges(draft.value, limits) : [];
  const options = changes.flatMap(([limit, amount]) => [
    `--${limit.replace("_", "-")}`,
    String(amount ?? "none"),
  ]);
  return (
    <Dialog
      title={t("limits.title", name)}
      verb={t("limits.verb")}
      keep={t("form.cancel")}
      isReady={changes.length > 0}
      onConfirm={async () => {
        await call("PUT", `/operator/v1${path}`, Object.fromEntries(changes));
        showToast({ text: t("limits.done", name) });
        onDone();
      }}
      onClose={onClose}
    >
      <p class="soft">{t("limits.hint")}</p>
      {limits && <LimitFields limits={limits} onChange={(...field) => set(...field)} />}
      <CommandLine text={writeCommand(...command, ...options)} />
    </Dialog>
  );

  function set(limit: LimitId, text: string) {
    draft.value = { ...draft.peek(), [limit]: text };
  }
}

interface LimitFieldsProps {
  limits: readonly LimitLine[];
  onChange(limit: LimitId, text: string): void;
}

function LimitFields({ limits, onChange }: LimitFieldsProps) {
  const id = useId();
  const before = new Map(limits.map(({ name, maximum }) => [name, String(Number(maximum))]));
  return (
    <table class="t plain grid">
      <thead>
        <tr>
          <th />
          {PERIODS.map((period) => (
            <th key={period}>{t(`limits.${period}`)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {MEASURES.map((measure) => (
          <tr key={measure}>
            <th>{t(`limits.${measure}`)}</th>
            {PERIODS.map((period) => {
              const name: LimitId = `${measure}_${period}`;
              return (
                <td key={period}>
                  <input
                    class="in"
                    id={`${id}${name}`}
                    inputMode="decimal"
                    pattern={measure === "cost" ? "\\d{1,9}(\\.\\d{1,6})?" : "\\d{1,15}"}
                    aria-label={t("limit.field", t(`limits.${measure}`), t(`limits.${period}`))}
                    defaultValue={before.get(name) ?? ""}
                    onInput={({ currentTarget }) => onChange(name, currentTarget.value.trim())}
                  />
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
