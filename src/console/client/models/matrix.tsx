// Accounts and models: who may call what. A cell of a model that needs a grant is a button.
import { useSignal } from "@preact/signals";
import { useActs } from "../acts.tsx";
import { call } from "../api.ts";
import { Dialog } from "../dialog.tsx";
import { SearchField, useQuery } from "../filters.tsx";
import { Icon, Outside, showToast } from "../parts.tsx";
import { t } from "../texts.ts";
import { type GrantedAccount, type ModelLine, needsGrant } from "./data.ts";

/** Accounts that are shown at once; a search finds the others. */
const ACCOUNTS_MAX = 100;
const SEARCHED_FROM = 12;

interface MatrixProps {
  models: readonly ModelLine[];
  accounts: readonly GrantedAccount[];
  onDone(): void;
}

interface Taken {
  account: string;
  model: string;
}

const SHAPES = {
  public: { shape: "on", tone: "mute" },
  granted: { shape: "ok", tone: "ok" },
  not_granted: { shape: "off", tone: "mute" },
  internal: { shape: "blocked", tone: "mute" },
} as const;

type Permission = keyof typeof SHAPES;

function permissionOf(model: ModelLine, account: GrantedAccount): Permission {
  if (model.visibility === "internal") return "internal";
  if (!needsGrant(model)) return "public";
  return account.granted_models.includes(model.id) ? "granted" : "not_granted";
}

export function Matrix({ models, accounts, onDone }: MatrixProps) {
  const [query, change] = useQuery();
  const taken = useSignal<Taken | null>(null);
  const { isBusy, note, act } = useActs();
  const search = (query.account ?? "").toLowerCase();
  const found = accounts.filter(({ name }) => name.toLowerCase().includes(search));
  const shown = found.slice(0, ACCOUNTS_MAX);
  const turn = async (method: "PUT" | "DELETE", { account, model }: Taken) => {
    const path = `/accounts/${encodeURIComponent(account)}/grants/${encodeURIComponent(model)}`;
    await call(method, `/operator/v1${path}`);
    const text = method === "PUT" ? "models.granted" : "models.ungranted";
    showToast({ text: t(text, account, model) });
    onDone();
  };
  return (
    <section class="page matrix">
      <div class="h line">
        <h2>{t("models.matrix")}</h2>
        <Legend />
        {accounts.length > SEARCHED_FROM && (
          <span class="end">
            <SearchField
              label={t("models.find_account")}
              hint={t("models.account")}
              value={query.account ?? ""}
              onChange={(account) => change({ account })}
            />
          </span>
        )}
      </div>
      {note}
      {found.length > shown.length && (
        <p class="soft">{t("models.matrix.cut", shown.length, found.length)}</p>
      )}
      {shown.length === 0 && <p class="soft">{t("models.matrix.none")}</p>}
      {shown.length > 0 && (
        <Cells
          accounts={shown}
          {...{ models, isBusy }}
          onGrant={(given) => void act(t("models.grant"), () => turn("PUT", given))}
          onTake={(given) => {
            taken.value = given;
          }}
        />
      )}
      {taken.value && (
        <Dialog
          title={t("models.take.ask", taken.value.model, taken.value.account)}
          verb={t("models.take")}
          keep={t("models.keep_grant")}
          onConfirm={() => turn("DELETE", taken.peek()!)}
          onClose={() => {
            taken.value = null;
          }}
        >
          <p>{t("models.take.says")}</p>
        </Dialog>
      )}
    </section>
  );
}

interface CellsProps extends Pick<CellProps, "isBusy" | "onGrant" | "onTake"> {
  models: readonly ModelLine[];
  accounts: readonly GrantedAccount[];
}

function Cells({ models, accounts, ...acts }: CellsProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard.
    <div class="scroll" tabIndex={0} role="region" aria-label={t("models.matrix")}>
      <table class="t plain mx">
        <thead>
          <tr>
            <th>{t("models.account")}</th>
            {models.map(({ id }) => (
              <th key={id}>
                <Outside text={id} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {accounts.map((account) => (
            <tr key={account.name}>
              <td>
                <Outside text={account.name} />
              </td>
              {models.map((model) => (
                <td key={model.id}>
                  <Cell {...{ model, account }} {...acts} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Legend() {
  return (
    <span class="legend">
      {(["public", "granted", "not_granted"] as const).map((permission) => (
        <span class="st" key={permission}>
          <Icon id={`s-${SHAPES[permission].shape}`} size={12} tone={SHAPES[permission].tone} />
          {t(`models.may.${permission}`)}
        </span>
      ))}
    </span>
  );
}

interface CellProps {
  model: ModelLine;
  account: GrantedAccount;
  isBusy: boolean;
  onGrant(given: Taken): void;
  onTake(given: Taken): void;
}

function Cell({ model, account, isBusy, onGrant, onTake }: CellProps) {
  const permission = permissionOf(model, account);
  const { shape, tone } = SHAPES[permission];
  const icon = <Icon id={`s-${shape}`} size={12} tone={tone} />;
  if (permission === "public" || permission === "internal") {
    return (
      <>
        {icon}
        <span class="vh">{t(`models.may.${permission}`)}</span>
      </>
    );
  }
  const given = { account: account.name, model: model.id };
  const isGranted = permission === "granted";
  return (
    <button
      type="button"
      class="cell"
      disabled={isBusy}
      aria-pressed={isGranted}
      aria-label={t("models.cell", model.id, account.name, t(`models.may.${permission}`))}
      onClick={() => (isGranted ? onTake(given) : onGrant(given))}
    >
      {icon}
    </button>
  );
}
