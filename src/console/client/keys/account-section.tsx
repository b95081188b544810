// One account: its keys, how much of its limits is used, and whether it is held.
import type { ComponentChildren } from "preact";
import { writeSpan } from "../format.ts";
import { HoldButton, type HoldSubject } from "../hold.tsx";
import { now } from "../live.ts";
import { Outside, State } from "../parts.tsx";
import { t } from "../texts.ts";
import type { AccountLine, LimitLine, ListedKey } from "./data.ts";
import { LimitBars } from "./limits.tsx";

interface AccountSectionProps {
  /** Keys without an owner have none. */
  account: AccountLine | null;
  /** Every key of it, beside those that a filter shows. */
  keys: readonly ListedKey[];
  limits: readonly LimitLine[];
  onChangeLimits(name: string): void;
  onHeld(): void;
  children: ComponentChildren;
}

export function AccountSection({ account, keys, limits, ...given }: AccountSectionProps) {
  const name = account?.name ?? t("keys.ownerless");
  return (
    <section aria-label={name}>
      <div class="acct">
        <div>
          <h2>{name}</h2>
          <p class="dim">
            {account ? writeContents(account, keys.length) : t("keys.ownerless.says")}
          </p>
          {account && <HoldNote account={account} />}
        </div>
        {account && (
          <>
            <LimitBars limits={limits} />
            <div class="row">
              <HoldButton subject={holdOf(account)} onDone={given.onHeld} />
              <button
                class="b"
                type="button"
                aria-label={t("limits.change.of", name)}
                onClick={() => given.onChangeLimits(name)}
              >
                {t("limits.change")}
              </button>
            </div>
          </>
        )}
      </div>
      {given.children}
    </section>
  );
}

const holdOf = ({ name, held_since }: AccountLine): HoldSubject => ({
  ...{ kind: "account", name, typed: name, isHeld: held_since !== null },
  path: `/accounts/${encodeURIComponent(name)}/hold`,
});

function writeContents({ agents, granted_models }: AccountLine, keys: number): string {
  const owns = t("keys.owns", keys, agents);
  return granted_models.length === 0
    ? owns
    : `${owns}, ${t("keys.may", granted_models.join(", "))}`;
}

function HoldNote({ account }: { account: AccountLine }) {
  const { held_since, hold_reason } = account;
  if (held_since === null) return null;
  return (
    <p>
      <State shape="paused" tone="warn">
        {t("keys.held", writeSpan(now.value - Date.parse(held_since)))}
      </State>{" "}
      {hold_reason && <Outside text={hold_reason} />}
    </p>
  );
}
