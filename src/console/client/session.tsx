// Signing in: a one-time link's token, which its fragment holds, is traded for a session.
import { ApiFailure, call, commands, type SignedInOperator, session } from "./api.ts";
import { writeCommand } from "./curl.ts";
import { t } from "./texts.ts";
import { takeToken } from "./token.ts";

const PATH = "/console/session";

/** A failure of the API, or what was asked for; other failures are bugs. */
const tryTo = <T,>(work: Promise<T>): Promise<T | ApiFailure> =>
  work.catch((failure: unknown) => {
    if (failure instanceof ApiFailure) return failure;
    throw failure;
  });

/** Finds out who is signed in, by the link that was opened or by the cookie. */
export async function startSession(): Promise<void> {
  const token = takeToken();
  let reply = token && (await tryTo(call<SignedInOperator>("POST", PATH, { token })));
  // A link that works no more changes nothing for those who are signed in.
  if (!reply || reply instanceof ApiFailure) {
    reply = await tryTo(call<SignedInOperator>("GET", PATH));
  }
  if (reply instanceof ApiFailure) {
    const command = /`(.+)`/.exec(reply.message)?.[1];
    session.value = { kind: token ? "used" : "none", command };
    return;
  }
  const { operator, role, program = "wadi", needs_server = false } = reply;
  Object.assign(commands, { program, needs_server });
  session.value = { kind: "signed_in", operator, role };
}

export function SignIn() {
  const { value } = session;
  document.title = `${t("session.title")} · Wadi`;
  if (value.kind === "unknown" || value.kind === "signed_in") return null;
  return (
    <div class="guest">
      <main class="door">
        <h1>{t("session.title")}</h1>
        {value.kind === "ended" && <p>{t("session.ended")}</p>}
        {value.kind === "used" && <p>{t("session.used")}</p>}
        <p>{t("session.none")}</p>
        <code class="code">{value.command ?? writeCommand("console")}</code>
      </main>
    </div>
  );
}
