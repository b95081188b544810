// The bar of filters above a list: states, menus and a search, kept in the address.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { nameHidden } from "./hidden.ts";
import { useKeys } from "./keyboard.ts";
import { Icon } from "./parts.tsx";
import { route, useLocation } from "./router.ts";
import { writeCount } from "./texts/plural.ts";

/** Changes fields of the address's query; an empty value removes its field. */
export function useQuery(): [
  query: Readonly<Record<string, string>>,
  change: (fields: Readonly<Record<string, string>>) => void,
] {
  const { path, query } = useLocation();
  const change = (fields: Readonly<Record<string, string>>) => {
    const all = Object.entries({ ...query, ...fields }).filter(([, value]) => value !== "");
    const text = new URLSearchParams(all).toString();
    route(text === "" ? path : `${path}?${text}`, true);
  };
  return [query, change];
}

export function FilterBar({ children }: { children: ComponentChildren }) {
  return <div class="filters">{children}</div>;
}

interface ChipProps {
  isPressed: boolean;
  shape?: string;
  tone?: string;
  count?: number;
  onPress(): void;
  children: ComponentChildren;
}

export function Chip({ isPressed, shape, tone, count, onPress, children }: ChipProps) {
  return (
    <button class="chip" type="button" aria-pressed={isPressed} onClick={onPress}>
      {shape && <Icon id={`s-${shape}`} size={12} tone={tone ?? ""} />}
      {children}
      {count !== undefined && count > 0 && <b>{writeCount(count)}</b>}
    </button>
  );
}

interface ChoiceMenuProps {
  /** Accessible name; also the text while nothing is chosen. */
  label: string;
  value: string;
  options: readonly { value: string; text: string }[];
  onChange(value: string): void;
}

/** A menu of one choice: the browser's own, which every keyboard and phone knows. */
export function ChoiceMenu({ label, value, options, onChange }: ChoiceMenuProps) {
  return (
    <select
      class="chip"
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    >
      {options.map(({ value: option, text }) => (
        <option key={option} value={option}>
          {nameHidden(text)}
        </option>
      ))}
    </select>
  );
}

interface SearchFieldProps {
  label: string;
  hint: string;
  value: string;
  onChange(value: string): void;
}

/** Time without a key after which the list is searched. */
const TYPED_MS = 200;

export function SearchField({ label, hint, value, onChange }: SearchFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useKeys({ "/": () => field.current?.focus() });
  useEffect(() => {
    // Cleared filters clear the field, unless a person is writing in it.
    if (field.current && field.current !== document.activeElement) field.current.value = value;
  }, [value]);
  return (
    <input
      class="in"
      type="search"
      ref={field}
      placeholder={hint}
      aria-label={label}
      defaultValue={value}
      dir="auto"
      onInput={({ currentTarget }) => {
        clearTimeout(timer.current);
        timer.current = setTimeout(() => onChange(currentTarget.value), TYPED_MS);
      }}
      onKeyDown={({ key, currentTarget }) => {
        if (key === "Escape") currentTarget.blur();
      }}
    />
  );
}
