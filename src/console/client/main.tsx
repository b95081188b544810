// The console: one page, drawn from the operator API.
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { session } from "./api.ts";
import { writeCommand } from "./curl.ts";
import { Guest } from "./guest/guest.tsx";
import { startGuest } from "./guest/session.ts";
import { startLanguage } from "./languages.ts";
import { LaterPage, loadLaterPages } from "./later-page.tsx";
import { startLive } from "./live.ts";
import { areAllLoaded, pages } from "./pages.ts";
import { Toaster } from "./parts.tsx";
import { isOfPage, route, startRouter, useLocation } from "./router.ts";
import { SignIn, startSession } from "./session.tsx";
import { applyTheme, Page } from "./shell.tsx";
import { t } from "./texts.ts";

function Missing() {
  return (
    <Page title="missing.title" command={writeCommand("status")} hints={[]}>
      <div class="page">
        <p>{t("missing")}</p>
        <a href="/console/">{t("missing.home")}</a>
      </div>
    </Page>
  );
}

/** An approver has approvals only, and starts there. */
function ToApprovals() {
  const isHome = useLocation().path === "/console";
  useEffect(() => {
    if (isHome) route("/console/approvals", true);
  }, [isHome]);
  return isHome ? null : <Missing />;
}

/** A busy page is idle in the end; Safari knows no idle time. */
const whenIdle = (work: () => void) =>
  globalThis.requestIdleCallback?.(work, { timeout: 5_000 }) ?? setTimeout(work);

function App() {
  const { path } = useLocation();
  const { value } = session;
  const isOperator = value.kind === "signed_in" && value.role === "operator";
  useEffect(() => {
    if (isOperator) whenIdle(() => void loadLaterPages());
  }, [isOperator]);
  if (value.kind !== "signed_in") return <SignIn />;
  const shown = pages.value.filter(({ isForApprovers }) => isOperator || isForApprovers);
  const Unknown = areAllLoaded() ? Missing : LaterPage;
  const found = shown.find((one) => isOfPage(path, one.path));
  const Found = found?.component ?? (isOperator ? Unknown : ToApprovals);
  return (
    <>
      <Found />
      {shown.map(({ path, beside: Beside }) => Beside && <Beside key={path} />)}
      <Toaster />
    </>
  );
}

/** A teammate's link has a page, a session and routes of its own. */
const isGuest = location.pathname === "/console/a";
const start = isGuest ? startGuest : startSession;

// The router would throw for an address that no page of this server has, such as /console/%ff.
try {
  decodeURIComponent(location.pathname);
} catch {
  history.replaceState(null, "", "/console/");
}

/** A classic script has no `await` at its top level. */
async function main(): Promise<void> {
  applyTheme();
  await Promise.all([start(), startLanguage()]);
  startLive();
  startRouter();
  render(isGuest ? <Guest /> : <App />, document.getElementById("app")!);
  // A link that is pasted into an open tab signs in, too.
  addEventListener("hashchange", () => void start());
}

void main();
