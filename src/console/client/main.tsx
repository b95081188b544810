// The console: one page, drawn from the operator API.
import { render } from "preact";
import { LocationProvider, Route, Router, useLocation } from "preact-iso";
import { session } from "./api.ts";
import { Approvals } from "./approvals/approvals.tsx";
import { Home } from "./home.tsx";
import { Toaster } from "./parts.tsx";
import { SignIn, startSession } from "./session.tsx";
import { applyTheme, Page } from "./shell.tsx";
import { t } from "./texts.ts";

function Missing() {
  return (
    <Page title="page.home" command="wadi status" hints={[]}>
      <div class="page">
        <p>{t("missing")}</p>
        <a href="/console/">{t("missing.home")}</a>
      </div>
    </Page>
  );
}

/** An approver has approvals only. */
function Start() {
  const { route } = useLocation();
  if (session.value.kind === "signed_in" && session.value.role === "approver") {
    route("/console/approvals", true);
    return null;
  }
  return <Home />;
}

function App() {
  if (session.value.kind !== "signed_in") return <SignIn />;
  return (
    <LocationProvider scope="/console">
      <Router>
        <Route path="/console" component={Start} />
        <Route path="/console/approvals" component={Approvals} />
        <Route path="/console/approvals/:id" component={Approvals} />
        <Route default component={Missing} />
      </Router>
      <Toaster />
    </LocationProvider>
  );
}

applyTheme();
await startSession();
render(<App />, document.getElementById("app")!);
// A link that is pasted into an open tab signs in, too.
addEventListener("hashchange", () => void startSession());
