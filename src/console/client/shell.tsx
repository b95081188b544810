// The frame of every page: places to go, theme, live state, and the command of the view.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import { call, session } from "./api.ts";
import { useKeys } from "./keyboard.ts";
import { copyText, Icon, Live, PauseButton } from "./parts.tsx";
import { type TextId, t } from "./texts.ts";

interface Place {
  href: string;
  icon: string;
  text: TextId;
  key: string;
}

const HOME: Place = { href: "/console/", icon: "i-home", text: "page.home", key: "g h" };
const APPROVALS: Place = {
  href: "/console/approvals",
  icon: "i-inbox",
  text: "page.approvals",
  key: "g a",
};

/** Pages that an approver sees, and those of operators only. */
const places = (): Place[] =>
  session.value.kind === "signed_in" && session.value.role === "operator"
    ? [HOME, APPROVALS]
    : [APPROVALS];

/** Approvals that wait; null: not known yet. */
export const waiting = signal<number | null>(null);
export const version = signal("");

const THEME = "theme";
const theme = signal(localStorage.getItem(THEME) ?? "");

export function applyTheme(): void {
  if (theme.value === "") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

const THEMES = [
  { value: "light", icon: "i-sun", text: "theme.light" },
  { value: "", icon: "i-half", text: "theme.system" },
  { value: "dark", icon: "i-moon", text: "theme.dark" },
] as const;

function Themes() {
  return (
    <div class="themes" role="group" aria-label={t("theme.label")}>
      {THEMES.map(({ value, icon, text }) => (
        <button
          key={value}
          type="button"
          aria-label={t(text)}
          aria-pressed={theme.value === value}
          onClick={() => {
            theme.value = value;
            localStorage.setItem(THEME, value);
            applyTheme();
          }}
        >
          <Icon id={icon} size={14} />
        </button>
      ))}
    </div>
  );
}

function Brand() {
  return (
    <div class="brand">
      <svg
        width="18"
        height="18"
        viewBox="0 0 18 18"
        fill="none"
        stroke="currentColor"
        stroke-width="1.9"
        stroke-linecap="round"
        aria-hidden="true"
      >
        <path d="M2 4.5c3.2 0 3.2 9 7 9s3.8-9 7-9" />
        <path d="M6.7 4.5c1 0 1 3.6 2.3 3.6s1.3-3.6 2.3-3.6" opacity=".55" />
      </svg>
      Wadi<span class="dim">{version}</span>
    </div>
  );
}

async function signOut(): Promise<void> {
  await call("DELETE", "/console/session");
  session.value = { kind: "none" };
}

function Side() {
  const { path } = useLocation();
  const operator = session.value.kind === "signed_in" ? session.value.operator : "";
  return (
    <aside class="side">
      <Brand />
      <button class="b menu" type="button" popovertarget="nav" aria-label={t("nav.menu")}>
        <Icon id="i-menu" />
      </button>
      <nav class="nav" id="nav" popover="auto" aria-label={t("nav.label")}>
        {places().map(({ href, icon, text }) => {
          const isHere = href === "/console/" ? path === href : path.startsWith(href);
          return (
            <a key={href} href={href} aria-current={isHere ? "page" : undefined}>
              <Icon id={icon} />
              {t(text)}
              {text === "page.approvals" && (waiting.value ?? 0) > 0 && (
                <span class="c hot">
                  <Icon id="s-waiting" size={10} />
                  {waiting}
                </span>
              )}
            </a>
          );
        })}
      </nav>
      <div class="foot">
        <a href="/docs" target="_self">
          {t("nav.docs")}
        </a>
        <span>·</span>
        <button class="link" type="button" title={t("nav.sign_out")} onClick={signOut}>
          <bdi>{operator}</bdi>
        </button>
        <Themes />
      </div>
    </aside>
  );
}

export interface KeyHint {
  keys: readonly string[];
  text: TextId;
}

interface PageProps {
  title: TextId;
  says?: string | undefined;
  /** Command that gives the same view. */
  command: string;
  hints: readonly KeyHint[];
  /** Shown at the end of the bar. */
  end?: ComponentChildren;
  before?: ComponentChildren;
  isFixed?: boolean;
  children: ComponentChildren;
}

export function Page({ title, says, command, hints, end, before, isFixed, children }: PageProps) {
  const { route } = useLocation();
  useKeys(Object.fromEntries(places().map(({ key, href }) => [key, () => route(href)])));
  document.title = `${t(title)} · Wadi`;
  return (
    <div class="app">
      <Side />
      <main class={isFixed ? "main fix" : "main"}>
        <header class="bar">
          {before}
          <h1>{t(title)}</h1>
          {says && <span class="dim">{says}</span>}
          <span class="end">
            <Live />
            <PauseButton />
            {end}
          </span>
        </header>
        {children}
        <footer class="cmd">
          <code class="cut ltr">{command}</code>
          <button
            class="b quiet"
            type="button"
            aria-label={t("command.copy")}
            onClick={() => copyText(command)}
          >
            <Icon id="i-copy" size={14} />
          </button>
          <span class="keys">
            {hints.map(({ keys, text }) => (
              <span key={text}>
                {keys.map((key) => (
                  <kbd key={key} aria-hidden="true">
                    {key}
                  </kbd>
                ))}{" "}
                {t(text)}
              </span>
            ))}
          </span>
        </footer>
      </main>
    </div>
  );
}
