// The frame of every page: places to go, theme, live state, and the command of the view.

import { signal } from "@preact/signals";
import { type ComponentChildren, Fragment } from "preact";
import { useEffect } from "preact/hooks";
import { call, session } from "./api.ts";
import { isJumping, Jump, useJumpKey } from "./jump.tsx";
import { type KeyHint, useKeys } from "./keyboard.ts";
import { isEnglish, switchLanguage } from "./languages.ts";
import { togglePause } from "./live.ts";
import { NAVIGATION, type NavigationItem } from "./navigation.ts";
import { copyText, Icon, Live, leaveToast, PauseButton, showToast, Tagged } from "./parts.tsx";
import { route, useLocation } from "./router.ts";
import { isListingKeys, KeyList } from "./shortcuts.tsx";
import { status, useStatus } from "./status.ts";
import { type TextId, t } from "./texts.ts";

const isOperator = () => session.value.kind === "signed_in" && session.value.role === "operator";

const openJump = () => {
  isJumping.value = true;
};

/** Groups of places that the person may open. */
const listNavigation = () => {
  return NAVIGATION.map(({ title, places }) => ({
    title,
    places: places.filter(({ isForApprovers }) => isOperator() || isForApprovers),
  })).filter(({ places }) => places.length > 0);
};

/** A count beside a place: one that asks for a person is hot. */
interface NavigationCount {
  number: number;
  hot?: "waiting" | "failed";
}

/** Counts of what waits for a person or is going on, by the address of their place. */
function countPlaces(): Readonly<Record<string, NavigationCount>> {
  const { data } = status.value;
  if (data === null) return {};
  const { queued, running, waiting_approval } = data.runs;
  return {
    "/console/approvals": { number: data.approvals.pending, hot: "waiting" },
    "/console/runs": { number: queued + running + waiting_approval },
    "/console/webhooks": { number: data.webhooks.failing_endpoints, hot: "failed" },
  };
}

/** Icons that point in the direction of reading. */
const MIRRORED = new Set(["i-runs", "i-webhooks", "i-requests", "i-play"]);

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

/** A button in the other language, for those who read that one. */
function OtherLanguage() {
  return (
    <button class="link" type="button" lang={isEnglish() ? "ar" : "en"} onClick={switchLanguage}>
      {t("language.other")}
    </button>
  );
}

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

/** The mark of the program. */
export function Mark() {
  return (
    <svg
      class="mark"
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
  );
}

function Brand() {
  return (
    <div class="brand">
      <Mark />
      Wadi<span class="dim">{status.value.data?.version}</span>
    </div>
  );
}

async function signOut(): Promise<void> {
  const before = session.value;
  // Pages stop reading before their session ends.
  session.value = { kind: "none" };
  try {
    await call("DELETE", "/console/session");
  } catch (failure) {
    session.value = before;
    showToast({ text: (failure as Error).message });
  }
}

interface NavigationLinkProps {
  place: NavigationItem;
  path: string;
  count: NavigationCount | undefined;
}

function NavigationLink({ place, path, count }: NavigationLinkProps) {
  const { href, icon, text } = place;
  // The router's path has no last slash.
  const isHere = href === "/console/" ? path === "/console" : path.startsWith(href);
  return (
    <a href={href} aria-current={isHere ? "page" : undefined}>
      <Icon id={icon} tone={MIRRORED.has(icon) ? "flip" : ""} />
      {t(text)}
      {count && count.number > 0 && (
        <span class={count.hot ? "c hot" : "c"}>
          {count.hot && (
            <Icon id={`s-${count.hot}`} size={10} tone={count.hot === "failed" ? "bad" : ""} />
          )}
          {count.number}
        </span>
      )}
    </a>
  );
}

function Side() {
  const { path } = useLocation();
  const signedIn = session.value.kind === "signed_in" ? session.value : null;
  const operator = signedIn?.operator ?? "";
  const isOperator = signedIn?.role === "operator";
  const counts = countPlaces();
  useStatus(isOperator);
  return (
    <aside class="side">
      <Brand />
      <button class="b menu" type="button" popovertarget="nav" aria-label={t("nav.menu")}>
        <Icon id="i-menu" />
      </button>
      {isOperator && (
        <button class="jump" type="button" onClick={openJump}>
          <Icon id="i-search" size={14} />
          {t("jump.title")}
          <kbd aria-hidden="true">Ctrl K</kbd>
        </button>
      )}
      <nav class="nav" id="nav" popover="auto" aria-label={t("nav.label")}>
        {listNavigation().map(({ title, places }) => (
          <Fragment key={title ?? ""}>
            {title && <h2>{t(title)}</h2>}
            {places.map((place) => (
              <NavigationLink key={place.href} {...{ place, path }} count={counts[place.href]} />
            ))}
          </Fragment>
        ))}
      </nav>
      <div class="foot">
        <span class="row">
          <a href="/docs">{t("nav.docs")}</a>
          {isOperator && <a href="/console/keys?show=sessions">{t("nav.sessions")}</a>}
          <OtherLanguage />
        </span>
        <button class="link cut" type="button" title={t("nav.sign_out")} onClick={signOut}>
          <bdi>{operator}</bdi>
        </button>
        <Themes />
      </div>
    </aside>
  );
}

const listKeys = () => {
  isListingKeys.value = true;
};

export type { KeyHint } from "./keyboard.ts";

interface PageProps {
  title: TextId;
  /** Stands in the place of the title above an opened item. */
  heading?: ComponentChildren;
  says?: string | undefined;
  /** Command that gives the same view. */
  command: string;
  hints: readonly KeyHint[];
  /** Shown at the end of the bar. */
  end?: ComponentChildren;
  before?: ComponentChildren;
  /** An opened item's name behind the title, which then leads to the list. */
  opened?: { list: string; name: ComponentChildren } | undefined;
  isFixed?: boolean;
  children: ComponentChildren;
}

function Title({ title, opened }: Pick<PageProps, "title" | "opened">) {
  if (!opened) return <h1>{t(title)}</h1>;
  return (
    <>
      <h1>
        <a class="crumb" href={opened.list}>
          {t(title)}
        </a>
      </h1>
      <span class="dim" aria-hidden="true">
        /
      </span>
      <h2 class="cut">{opened.name}</h2>
    </>
  );
}

export function Page({ title, says, command, hints, end, before, ...given }: PageProps) {
  const { opened, heading, isFixed, children } = given;
  const { path } = useLocation();
  useEffect(leaveToast, [path]);
  const places = listNavigation().flatMap((group) => group.places);
  useKeys({
    ...Object.fromEntries(places.map(({ key, href }) => [key, () => route(href)])),
    ".": togglePause,
    "?": listKeys,
  });
  useJumpKey();
  document.title = `${t(title)} · Wadi`;
  return (
    <div class="app">
      <Side />
      <main class={isFixed ? "main fix" : "main"}>
        <header class="bar">
          {before}
          {heading ? <h1>{heading}</h1> : <Title title={title} opened={opened} />}
          {says && (
            <span class="dim">
              <Tagged text={says} />
            </span>
          )}
          <span class="end">
            <Live />
            <PauseButton />
            {end}
          </span>
        </header>
        {children}
        <footer class="cmd">
          <code class="cut ltr">
            <Tagged text={command} />
          </code>
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
            <button type="button" aria-label={t("shortcuts.button")} onClick={listKeys}>
              <kbd aria-hidden="true">?</kbd>
            </button>
          </span>
        </footer>
        <KeyList hints={hints} places={places} />
        {isOperator() && <Jump places={places} />}
      </main>
    </div>
  );
}
