// Signing in: a one-time link's token, which its fragment holds, is traded for a session.
import { ApiFailure, call, type SignedInOperator, session } from "./api.ts";
import { t } from "./texts.ts";
import { takeToken } from "./token.ts";

/** Finds out who is signed in, by the link that was opened or by the cookie. */
export async function startSession(): Promise<void> {
  const token = takeToken();
  try {
    const { operator, role } = token
      ? await call<SignedInOperator>("POST", "/console/session", { token })
      : await call<SignedInOperator>("GET", "/console/session");
    session.value = { kind: "signed_in", operator, role };
  } catch (failure) {
    if (!(failure instanceof ApiFailure)) throw failure;
    session.value = { kind: token ? "used" : "none" };
  }
}

export function SignIn() {
  const { kind } = session.value;
  document.title = `${t("session.title")} · Wadi`;
  if (kind === "unknown") return null;
  return (
    <div class="guest">
      <main class="door">
        <h1>{t("session.title")}</h1>
        {kind === "ended" && <p>{t("session.ended")}</p>}
        {kind === "used" && <p>{t("session.used")}</p>}
        <p>{t("session.none")}</p>
        <code class="code">wadi console</code>
      </main>
    </div>
  );
}
