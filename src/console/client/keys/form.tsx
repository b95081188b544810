// Fields of the forms of accounts and keys, and the command that does the same.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { nameHidden } from "../hidden.ts";
import { Tagged } from "../parts.tsx";

interface FieldProps {
  label: string;
  hint?: string;
  children(id: string, hintId: string | undefined): ComponentChildren;
}

export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  const hintId = hint === undefined ? undefined : `${id}h`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id, hintId)}
      {hint && (
        <small class="dim" id={hintId}>
          {hint}
        </small>
      )}
    </div>
  );
}

interface TextFieldProps {
  label: string;
  hint?: string;
  value: string;
  isRequired?: boolean;
  pattern?: string;
  characters?: number;
  /** Lines of a field for more than one. */
  rows?: number;
  inputMode?: "numeric";
  onChange(value: string): void;
}

export function TextField({
  label,
  hint,
  value,
  isRequired,
  characters,
  ...given
}: TextFieldProps) {
  const { rows, pattern, inputMode, onChange } = given;
  const Element = rows ? "textarea" : "input";
  return (
    <Field label={label} hint={hint}>
      {(id, hintId) => (
        <Element
          class="in"
          id={id}
          aria-describedby={hintId}
          dir="auto"
          autocomplete="off"
          value={value}
          required={isRequired ?? false}
          {...(rows && { rows })}
          {...(pattern && { pattern })}
          {...(characters && { maxLength: characters })}
          {...(inputMode && { inputMode })}
          onInput={({ currentTarget }: { currentTarget: { value: string } }) =>
            onChange(currentTarget.value)
          }
        />
      )}
    </Field>
  );
}

interface ChoiceFieldProps {
  label: string;
  value: string;
  options: readonly { value: string; text: string }[];
  onChange(value: string): void;
}

export function ChoiceField({ label, value, options, onChange }: ChoiceFieldProps) {
  return (
    <Field label={label}>
      {(id) => (
        <select
          class="in"
          id={id}
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {nameHidden(option.text)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface CheckListProps {
  label: string;
  hint?: string;
  options: readonly { value: string; says?: string }[];
  chosen: readonly string[];
  onChange(chosen: string[]): void;
}

/** Several choices under one name. */
export function CheckList({ label, hint, options, chosen, onChange }: CheckListProps) {
  return (
    <fieldset class="field checks">
      <legend>{label}</legend>
      {hint && <small class="dim">{hint}</small>}
      {options.map(({ value, says }) => (
        <label key={value}>
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={({ currentTarget }) => {
              const others = chosen.filter((one) => one !== value);
              onChange(currentTarget.checked ? [...others, value] : others);
            }}
          />
          <span>
            <code>{value}</code> {says && <span class="soft">{says}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** The command that does what the dialog does. */
export function CommandLine({ text }: { text: string }) {
  return (
    <pre class="code">
      <span class="p">$ </span>
      <Tagged text={text} />
    </pre>
  );
}
