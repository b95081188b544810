// The side of the playground: as whom, to which model, with which parameters.

import type { ListedKey } from "../keys/data.ts";
import { nameKey } from "../keys/data.ts";
import { ChoiceField, Field, TextField } from "../keys/form.tsx";
import { useResource } from "../live.ts";
import { t } from "../texts.ts";
import type { ChatParameters } from "./parameters.ts";

interface SettingsProps {
  keys: readonly ListedKey[];
  chosen: ListedKey | undefined;
  parameters: ChatParameters;
  onChoose(id: string): void;
  onChange(fields: Partial<ChatParameters>): void;
}

const writeKey = (key: ListedKey): string =>
  key.ends_in === null ? nameKey(key) : t("playground.key.end", nameKey(key), key.ends_in);

export function ChatSettings({ keys, chosen, parameters, onChoose, onChange }: SettingsProps) {
  const models = useResource<{ id: string; is_default: boolean }[]>("/models", ["models"]);
  const accounts = [...new Set(keys.map(({ account }) => account!))].toSorted();
  const own = keys.filter(({ account }) => account === chosen?.account);
  const { data } = models.value;
  const standard = data?.find(({ is_default }) => is_default)?.id;
  return (
    <section class="fields" aria-label={t("playground.parameters")}>
      <div class="pair">
        <ChoiceField
          label={t("field.account")}
          value={chosen?.account ?? ""}
          options={accounts.map((account) => ({ value: account, text: account }))}
          onChange={(account) => onChoose(keys.find((key) => key.account === account)!.id)}
        />
        <ChoiceField
          label={t("keys.column.key")}
          value={chosen?.id ?? ""}
          options={own.map((key) => ({ value: key.id, text: writeKey(key) }))}
          onChange={onChoose}
        />
      </div>
      <ChoiceField
        label={t("playground.model")}
        value={parameters.model}
        options={[
          {
            value: "",
            text: standard ? t("playground.model.of", standard) : t("playground.model.default"),
          },
          ...(data ?? []).map(({ id }) => ({ value: id, text: id })),
        ]}
        onChange={(model) => onChange({ model })}
      />
      <Field label={t("playground.system")}>
        {(id) => (
          <textarea
            class="in"
            id={id}
            rows={3}
            dir="auto"
            value={parameters.system}
            onInput={({ currentTarget }) => onChange({ system: currentTarget.value })}
          />
        )}
      </Field>
      <div class="pair">
        <TextField
          label={t("playground.temperature")}
          value={parameters.temperature}
          inputMode="numeric"
          onChange={(temperature) => onChange({ temperature: temperature.trim() })}
        />
        <TextField
          label={t("playground.max_tokens")}
          value={parameters.maxTokens}
          inputMode="numeric"
          onChange={(maxTokens) => onChange({ maxTokens: maxTokens.trim() })}
        />
      </div>
      <Switches parameters={parameters} onChange={onChange} />
    </section>
  );
}

const SWITCHES = ["reasoning", "think"] as const;

function Switches({ parameters, onChange }: Pick<SettingsProps, "parameters" | "onChange">) {
  return (
    <div class="field checks">
      {SWITCHES.map((name) => (
        <label key={name}>
          <input
            type="checkbox"
            checked={parameters[name]}
            onChange={({ currentTarget }) => onChange({ [name]: currentTarget.checked })}
          />
          <span>
            <code>{name}</code> <span class="soft">{t(`scope.${name}`)}</span>
          </span>
        </label>
      ))}
    </div>
  );
}
