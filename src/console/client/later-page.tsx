// Stands in the place of a page of the second script, until that is loaded.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiFailure, NO_ANSWER, readFailure } from "./api.ts";
import { writeCommand } from "./curl.ts";
import { NAVIGATION } from "./navigation.ts";
import { FailureNote } from "./parts.tsx";
import { Loading } from "./resource.tsx";
import { useLocation } from "./router.ts";
import { loadScript } from "./script.ts";
import { Page } from "./shell.tsx";
import { t } from "./texts.ts";

declare global {
  /** Digest of the second script, from the bundler. */
  const LATER_INTEGRITY: string;
}

const RETRY_S = 4;
const RELOADED_AT = "reloaded_at";
/** Servers of two versions behind one address would make a page load for ever. */
const RELOAD_EVERY_MS = 60_000;

let loading: Promise<boolean> | undefined;
const failure = signal<ApiFailure | null>(null);

/** Loads the second script once; returns false where that failed, and it can be tried again. */
export async function loadLaterPages(): Promise<boolean> {
  loading ??= loadScript("later", LATER_INTEGRITY);
  const isDone = await loading;
  if (!isDone) loading = undefined;
  return isDone;
}

/** A script that is there, but not as this page knows it, belongs to another version. */
async function findFailure(): Promise<ApiFailure | null> {
  const reply = await fetch("/console/later.js", { cache: "no-store" }).catch(() => null);
  if (!reply) return new ApiFailure(0, "no_answer", NO_ANSWER, null);
  if (!reply.ok) return readFailure(reply, await reply.text().catch(() => ""));
  const isRecent = Date.now() - Number(sessionStorage.getItem(RELOADED_AT)) < RELOAD_EVERY_MS;
  if (isRecent) return new ApiFailure(0, "other_version", t("later.version"), null);
  sessionStorage.setItem(RELOADED_AT, String(Date.now()));
  location.reload();
  return null;
}

async function load(): Promise<void> {
  if (await loadLaterPages()) return;
  const found = await findFailure();
  failure.value = found && Object.assign(found, { againInS: RETRY_S });
}

export function LaterPage() {
  const { path } = useLocation();
  const { value } = failure;
  useEffect(() => {
    const timer = setTimeout(load, value ? RETRY_S * 1_000 : 0);
    return () => clearTimeout(timer);
  }, [value]);
  const places = NAVIGATION.flatMap((group) => group.places);
  const { text } = places.findLast(({ href }) => path.startsWith(href)) ?? places[0]!;
  return (
    <Page title={text} command={writeCommand("status")} hints={[]}>
      {value ? (
        <div class="page">
          <FailureNote what={t(text)} failure={value} />
        </div>
      ) : (
        <Loading />
      )}
    </Page>
  );
}
