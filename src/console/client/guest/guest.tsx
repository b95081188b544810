// The page of a teammate: what a link shows, until when, and the decision.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { ApiFailure } from "../api.ts";
import type { ListedApproval } from "../approvals/data.ts";
import { describeDecision, type Outcome } from "../approvals/decision.tsx";
import { Items, sortByEnd } from "../approvals/list.tsx";
import { Sheet } from "../approvals/sheet.tsx";
import { writeRecent } from "../format.ts";
import { useKeys } from "../keyboard.ts";
import { now } from "../live.ts";
import { Icon, Live, Outside, showToast, Toaster } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { route, useLocation } from "../router.ts";
import { Mark } from "../shell.tsx";
import { t } from "../texts.ts";
import {
  guest,
  type LinkSession,
  listWaiting,
  refreshGuest,
  signOut,
  useRepeated,
} from "./session.ts";

const PATH = "/console/a";

export function Guest() {
  document.title = `${t("guest.title")} · Wadi`;
  const { value } = guest;
  if (value.kind !== "open") {
    return (
      <Plain title={t("guest.title")}>
        <p>{t(`guest.link.${value.kind}`)}</p>
      </Plain>
    );
  }
  return (
    <>
      {value.session.approval_id === null ? (
        <AccountPage session={value.session} />
      ) : (
        <ApprovalPage session={value.session} />
      )}
      <Toaster />
    </>
  );
}

/** `title` may be that of a tool. */
function Plain({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="guest">
      <main class="door">
        <h1>
          <Outside text={title} />
        </h1>
        {children}
      </main>
    </div>
  );
}

interface FrameProps {
  session: LinkSession;
  says: string;
  children: ComponentChildren;
}

function Frame({ session, says, children }: FrameProps) {
  return (
    <div class="guest">
      <header>
        <Mark />
        <span>
          <b>{t("guest.asks", session.operator)}</b> {says}
        </span>
        <Live />
      </header>
      <main>{children}</main>
      <footer>
        {t("guest.as")}{" "}
        <b>
          <Outside text={session.person} />
        </b>
        . {t("guest.stored")} <SignOut />
      </footer>
    </div>
  );
}

function SignOut() {
  return (
    <button class="link" type="button" onClick={signOut}>
      {t("nav.sign_out")}
    </button>
  );
}

/** Says what was decided, and when: there is nothing else to do. */
function Done({ session }: { session: LinkSession }) {
  const { status, decided_by, decided_at, tool, person } = session;
  const isOwn = decided_by?.person === person;
  const at = decided_at ? writeRecent(decided_at, now.value) : "";
  const says =
    isOwn && (status === "approved" || status === "rejected")
      ? t(`guest.done.${status}`, at)
      : describeDecision({ status: status ?? "closed", decided_by, decided_at, reason: null });
  return (
    <Plain title={tool ?? t("guest.title")}>
      <p role="status">
        <Outside text={says} />
      </p>
    </Plain>
  );
}

/** Shows the only approval of a link; once it is decided, the decision and nothing else. */
function ApprovalPage({ session }: { session: LinkSession }) {
  useRepeated(refreshGuest);
  const { approval_id, status, decided_by, decided_at, expires_at } = session;
  const wasWaiting = useRef(status === "pending");
  const isDone = useSignal(false);
  const isOver = status !== null && status !== "pending";
  if (isOver && (isDone.value || !wasWaiting.current)) return <Done session={session} />;
  return (
    <Frame session={session} says={t("guest.one", writeRecent(expires_at, now.value))}>
      <Sheet
        id={approval_id!}
        status={undefined}
        // The sheet may not be read from then on: it stays, and its buttons go.
        past={isOver ? { status, decided_by, decided_at, reason: null } : undefined}
        listHref={PATH}
        isAlone
        onConflict={refreshGuest}
        onDecided={() => {
          isDone.value = true;
          void refreshGuest();
        }}
      />
    </Frame>
  );
}

/** Shows what waits of an account, and one that is opened. */
function AccountPage({ session }: { session: LinkSession }) {
  const { query } = useLocation();
  const rows = useSignal<ListedApproval[] | null>(null);
  const failure = useSignal<ApiFailure | null>(null);
  useRepeated(async () => {
    try {
      rows.value = await listWaiting();
      failure.value = null;
    } catch (problem) {
      if (!(problem instanceof ApiFailure)) throw problem;
      failure.value = problem;
      if (problem.status === 401) await refreshGuest();
    }
  });
  const { account, expires_at } = session;
  const open = query.id;
  const hrefOf = (id: string) => `${PATH}?id=${id}`;
  const waits = sortByEnd(rows.value ?? []);
  const move = (by: number) => {
    const at = waits.findIndex(({ id }) => id === open);
    const next = waits[Math.min(Math.max(at + by, 0), waits.length - 1)];
    if (next) route(hrefOf(next.id));
  };
  useKeys({ j: () => move(1), k: () => move(-1), Escape: () => route(PATH) });
  const decided = (outcome: Outcome) => {
    showToast({ text: t(`approvals.done.${outcome}`) });
    rows.value = waits.filter(({ id }) => id !== open);
    route(PATH);
  };
  return (
    <Frame session={session} says={t("guest.account", account, writeRecent(expires_at, now.value))}>
      {open ? (
        <>
          <a class="back-link" href={PATH}>
            <Icon id="i-back" tone="flip" />
            {t("guest.back")}
          </a>
          <Sheet
            key={open}
            id={open}
            status={rows.value === null || waits.some(({ id }) => id === open) ? "pending" : "gone"}
            listHref={PATH}
            isAlone
            onDecided={decided}
          />
        </>
      ) : (
        <section class="list">
          <h1 class="vh">{t("guest.list")}</h1>
          <Unready what={t("guest.list")} resource={{ data: rows.value, failure: failure.value }} />
          {rows.value && waits.length === 0 && <p class="page soft">{t("guest.list.none")}</p>}
          <Items title={t("guest.list")} rows={waits} hrefOf={hrefOf} />
        </section>
      )}
    </Frame>
  );
}
