// The session of a link to approvals: begun by the token that its fragment holds.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiFailure, api, call, get } from "../api.ts";
import type { Decider, ListedApproval } from "../approvals/data.ts";
import { noteAnswer } from "../live.ts";
import { showToast } from "../parts.tsx";
import { takeToken } from "../token.ts";

export interface LinkSession {
  person: string;
  operator: string;
  account: string;
  approval_id: string | null;
  /** Title or name of the only approval's tool. */
  tool: string | null;
  expires_at: string;
  /** Status of the only approval; null: the link shows those of an account. */
  status: ListedApproval["status"] | null;
  decided_by: Decider | null;
  decided_at: string | null;
}

type GuestState =
  | { kind: "none" | "used" | "ended" | "left" }
  | { kind: "open"; session: LinkSession };

const PATH = "/operator/link";

export const guest = signal<GuestState>({ kind: "none" });

/** Trades the token of the address, or goes on with the cookie of an earlier one. */
export async function startGuest(): Promise<void> {
  api.base = `${PATH}/v1`;
  const token = takeToken();
  try {
    const session = token
      ? await call<LinkSession>("POST", `${PATH}/session`, { token })
      : await call<LinkSession>("GET", `${PATH}/session`);
    guest.value = { kind: "open", session };
  } catch (failure) {
    if (!(failure instanceof ApiFailure)) throw failure;
    guest.value = { kind: token ? "used" : "none" };
  }
}

/** Reads the session again: others may decide, and its time ends. */
export async function refreshGuest(): Promise<void> {
  try {
    const session = await call<LinkSession>("GET", `${PATH}/session`);
    // The person may have signed out meanwhile.
    if (guest.peek().kind === "open") guest.value = { kind: "open", session };
    noteAnswer();
  } catch (failure) {
    if (!(failure instanceof ApiFailure)) throw failure;
    if (failure.status === 401 && guest.peek().kind === "open") guest.value = { kind: "ended" };
  }
}

/** Ends the session, and with it the link: others who use this browser decide nothing. */
export async function signOut(): Promise<void> {
  try {
    await call("DELETE", `${PATH}/session`);
  } catch (failure) {
    if (!(failure instanceof ApiFailure)) throw failure;
    if (failure.status !== 401) return showToast({ text: failure.message });
  }
  guest.value = { kind: "left" };
}

export async function listWaiting(): Promise<ListedApproval[]> {
  const rows = await get<ListedApproval[]>("/approvals?status=pending&limit=200");
  noteAnswer();
  return rows;
}

/** Often enough for a page that is live. */
const EVERY_MS = 3_000;

/** Calls at once and again every few seconds, while the page is visible. */
export function useRepeated(work: () => Promise<void>): void {
  useEffect(() => {
    const tick = () => {
      if (!document.hidden) void work();
    };
    tick();
    const timer = setInterval(tick, EVERY_MS);
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  }, []);
}
