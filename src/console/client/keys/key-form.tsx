// The dialogs that create an account, and create or change a key.
import { useSignal } from "@preact/signals";
import { call, post } from "../api.ts";
import { writeCommand } from "../curl.ts";
import { Dialog } from "../dialog.tsx";
import { DAY_MS } from "../format.ts";
import { useResource } from "../live.ts";
import { showToast } from "../parts.tsx";
import { t } from "../texts.ts";
import { type ListedKey, nameKey, requestSecret, SCOPES } from "./data.ts";
import { CheckList, ChoiceField, CommandLine, TextField } from "./form.tsx";
import { revealSecret } from "./secret.tsx";

interface FormProps {
  onDone(): void;
  onClose(): void;
}

const ACCOUNT_CHARACTERS_MAX = 64;
const NAME_CHARACTERS_MAX = 128;
const EXPIRY_DAYS = [7, 30, 90, 365];

export function AccountForm({ onDone, onClose }: FormProps) {
  const name = useSignal("");
  return (
    <Dialog
      title={t("account.create")}
      verb={t("account.create")}
      keep={t("form.cancel")}
      isReady={name.value !== ""}
      onConfirm={async () => {
        await post("/accounts", { name: name.peek() });
        showToast({ text: t("account.done", name.peek()) });
        onDone();
      }}
      onClose={onClose}
    >
      <TextField
        label={t("field.name")}
        hint={t("account.create.hint")}
        value={name.value}
        isRequired
        characters={ACCOUNT_CHARACTERS_MAX}
        onChange={(value) => {
          name.value = value;
        }}
      />
      <CommandLine text={writeCommand("accounts", "create", name.value || "NAME")} />
    </Dialog>
  );
}

interface KeyDraft {
  account: string;
  name: string;
  scopes: string[];
  models: string[];
  cap: string;
  /** Days from now; "": none, "keep": the end it has. */
  days: string;
}

const KEEP = "keep";

function readBody({ name, scopes, models, cap, days }: KeyDraft) {
  return {
    scopes,
    models,
    ...(name !== "" && { name }),
    ...(cap !== "" && { max_output_tokens: Number(cap) }),
    ...(days !== "" && days !== KEEP && { lifetime_ms: Number(days) * DAY_MS }),
  };
}

function readCreation({ account, ...draft }: KeyDraft) {
  return { ...(account !== "" && { account }), ...readBody({ account, ...draft }) };
}

/** An empty field removes what the key had. */
function readUpdate(draft: KeyDraft) {
  const emptied = {
    ...(draft.name === "" && { name: null }),
    ...(draft.cap === "" && { max_output_tokens: null }),
    ...(draft.days === "" && { lifetime_ms: null }),
  };
  return { ...readBody(draft), ...emptied };
}

const repeat = (option: string, values: readonly string[]) =>
  values.flatMap((value) => [option, value]);

function writeCreation({ account, name, scopes, models, cap, days }: KeyDraft): string {
  return writeCommand(
    ...["keys", "create"],
    ...(account === "" ? ["--no-account"] : ["--account", account]),
    ...(name === "" ? [] : ["--name", name]),
    ...repeat("--scope", scopes),
    ...repeat("--model", models),
    ...(cap === "" ? [] : ["--max-output-tokens", cap]),
    ...(days === "" ? [] : ["--expires", `${days}d`]),
  );
}

function writeUpdate(id: string, { name, scopes, models, cap, days }: KeyDraft): string {
  return writeCommand(
    ...["keys", "update", id],
    ...(name === "" ? [] : ["--name", name]),
    ...(scopes.length === 0 ? ["--no-scopes"] : repeat("--scope", scopes)),
    ...(models.length === 0 ? ["--all-models"] : repeat("--model", models)),
    ...(cap === "" ? ["--no-max-output-tokens"] : ["--max-output-tokens", cap]),
    ...(days === KEEP ? [] : days === "" ? ["--no-expiry"] : ["--expires", `${days}d`]),
  );
}

interface KeyFormProps extends FormProps {
  accounts: readonly string[];
  /** Chosen at first. */
  account: string;
}

export function NewKeyForm({ accounts, account, onDone, onClose }: KeyFormProps) {
  const draft = useSignal<KeyDraft>({
    ...{ account, name: "", scopes: [], models: [], cap: "", days: "90" },
  });
  const create = async () => {
    revealSecret(await requestSecret("/keys", readCreation(draft.peek())));
    onDone();
  };
  return (
    <Dialog
      title={t("key.create")}
      verb={t("key.create")}
      keep={t("form.cancel")}
      onConfirm={create}
      onClose={onClose}
    >
      <KeyFields
        draft={draft.value}
        accounts={accounts}
        onChange={(fields) => {
          draft.value = { ...draft.peek(), ...fields };
        }}
      />
      <CommandLine text={writeCreation(draft.value)} />
    </Dialog>
  );
}

export function KeyChangeForm({ changed, onDone, onClose }: FormProps & { changed: ListedKey }) {
  const name = nameKey(changed);
  const draft = useSignal<KeyDraft>({
    account: "",
    name: changed.name ?? "",
    scopes: changed.scopes,
    models: changed.models ?? [],
    cap: changed.max_output_tokens === null ? "" : String(changed.max_output_tokens),
    days: KEEP,
  });
  const change = async () => {
    await call("PATCH", `/operator/v1/keys/${changed.id}`, readUpdate(draft.peek()));
    showToast({ text: t("key.changed", name) });
    onDone();
  };
  return (
    <Dialog
      title={t("key.change.of", name)}
      verb={t("key.change.verb")}
      keep={t("form.cancel")}
      onConfirm={change}
      onClose={onClose}
    >
      <KeyFields
        draft={draft.value}
        onChange={(fields) => {
          draft.value = { ...draft.peek(), ...fields };
        }}
      />
      <CommandLine text={writeUpdate(changed.id, draft.value)} />
    </Dialog>
  );
}

interface KeyFieldsProps {
  draft: KeyDraft;
  /** Accounts to choose from; without them the key keeps its own. */
  accounts?: readonly string[];
  onChange(fields: Partial<KeyDraft>): void;
}

function KeyFields({ draft, accounts, onChange }: KeyFieldsProps) {
  const models = useResource<{ id: string }[]>("/models").value.data ?? [];
  const days = EXPIRY_DAYS.map((number) => {
    return { value: String(number), text: t("expiry.days", number) };
  });
  const never = { value: "", text: t("expiry.never") };
  const keep = accounts ? [] : [{ value: KEEP, text: t("expiry.keep") }];
  return (
    <>
      <TextField
        label={t("field.name")}
        value={draft.name}
        characters={NAME_CHARACTERS_MAX}
        onChange={(name) => onChange({ name })}
      />
      {accounts && (
        <ChoiceField
          label={t("field.account")}
          value={draft.account}
          options={[
            ...accounts.map((account) => ({ value: account, text: account })),
            { value: "", text: t("field.account.none") },
          ]}
          onChange={(account) => onChange({ account })}
        />
      )}
      <CheckList
        label={t("field.scopes")}
        hint={t("scope.chat")}
        options={SCOPES.map((scope) => ({ value: scope, says: t(`scope.${scope}`) }))}
        chosen={draft.scopes}
        onChange={(scopes) => onChange({ scopes })}
      />
      <CheckList
        label={t("field.models")}
        hint={t("field.models.hint")}
        options={models.map(({ id }) => ({ value: id }))}
        chosen={draft.models}
        onChange={(chosen) => onChange({ models: chosen })}
      />
      <div class="pair">
        <TextField
          label={t("field.cap")}
          hint={t("field.cap.hint")}
          value={draft.cap}
          inputMode="numeric"
          pattern="[1-9]\d{0,8}"
          onChange={(cap) => onChange({ cap: cap.trim() })}
        />
        <ChoiceField
          label={t("field.expires")}
          value={draft.days}
          options={[...keep, ...days, never]}
          onChange={(chosen) => onChange({ days: chosen })}
        />
      </div>
    </>
  );
}
