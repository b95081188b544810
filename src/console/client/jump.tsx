// Search or jump: pages by their titles, and objects of all kinds by a part of their name or id.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { shortenId } from "./format.ts";
import { useResource } from "./live.ts";
import { Modal } from "./modal.tsx";
import type { NavigationItem } from "./navigation.ts";
import { Icon, Outside } from "./parts.tsx";
import { route } from "./router.ts";
import { t } from "./texts.ts";

export const isJumping = signal(false);

/** Ctrl K, also while a field has the focus. */
export function useJumpKey(): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isJump = (event.ctrlKey || event.metaKey) && !event.altKey && event.code === "KeyK";
      if (!isJump || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      isJumping.value = true;
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

const KINDS = {
  account: { icon: "i-keys", path: "/keys?account=" },
  agent: { icon: "i-agents", path: "/agents/" },
  approval: { icon: "i-inbox", path: "/approvals/" },
  endpoint: { icon: "i-webhooks", path: "/webhooks/" },
  key: { icon: "i-keys", path: "/keys?key=" },
  model: { icon: "i-models", path: "/models?model=" },
  run: { icon: "i-runs", path: "/runs/" },
  trigger: { icon: "i-triggers", path: "/triggers/" },
} as const;

interface JumpResult {
  kind: keyof typeof KINDS;
  id: string;
  name: string | null;
  account: string | null;
}

interface JumpTarget {
  href: string;
  icon: string;
  name: string;
  /** Kind and id of an object. */
  says?: string;
  account?: string | null;
}

function describe({ kind, id, name, account }: JumpResult): JumpTarget {
  const { icon, path } = KINDS[kind];
  const isNamed = kind === "account" || kind === "model";
  const key = kind === "account" ? name! : id;
  return {
    ...{ icon, account, name: name ?? shortenId(id) },
    href: `/console${path}${encodeURIComponent(key)}`,
    says: isNamed || !name ? t(`jump.${kind}`) : `${t(`jump.${kind}`)} ${shortenId(id)}`,
  };
}

const TYPED_MS = 150;

export function Jump({ places }: { places: readonly NavigationItem[] }) {
  return isJumping.value ? <JumpDialog places={places} /> : null;
}

function JumpDialog({ places }: { places: readonly NavigationItem[] }) {
  const typed = useSignal("");
  const asked = useSignal("");
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    const timer = setTimeout(() => {
      asked.value = typed.value.trim();
    }, TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed.value]);
  const query = asked.value === "" ? null : `/find?text=${encodeURIComponent(asked.value)}`;
  const { data } = useResource<JumpResult[]>(query).value;
  const text = typed.value.trim().toLocaleLowerCase();
  const pages = places
    .filter((place) => t(place.text).toLocaleLowerCase().includes(text))
    .map(({ href, icon, text: title }): JumpTarget => ({ href, icon, name: t(title) }));
  const found = text === "" ? [] : (data ?? []).map(describe);
  const targets = [...pages, ...found];
  const close = () => {
    isJumping.value = false;
  };
  const openFirst = (event: Event) => {
    event.preventDefault();
    if (!targets[0]) return;
    close();
    route(targets[0].href);
  };
  return (
    <Modal title={t("jump.title")} isTitleHidden onClose={close}>
      <form onSubmit={openFirst} onKeyDown={(event) => moveFocus(event, list.current)}>
        <input
          class="in"
          type="search"
          aria-label={t("jump.title")}
          placeholder={t("jump.hint")}
          dir="auto"
          maxLength={256}
          onInput={({ currentTarget }) => {
            typed.value = currentTarget.value;
          }}
        />
        <ul ref={list}>
          {targets.map((target) => (
            <li key={target.href}>
              <a class="found" href={target.href} onClick={close}>
                <FoundText {...target} />
              </a>
            </li>
          ))}
        </ul>
        <p class={targets.length > 0 ? "vh" : "dim"} role="status">
          {targets.length > 0 ? t("jump.count", targets.length) : t("jump.none")}
        </p>
      </form>
    </Modal>
  );
}

function FoundText({ icon, name, account, says }: JumpTarget) {
  return (
    <>
      <Icon id={icon} size={14} />
      <span class="cut grow">
        <Outside text={name} />
      </span>
      {account && (
        <span class="dim cut">
          <Outside text={account} />
        </span>
      )}
      {says && <span class="dim nw">{says}</span>}
    </>
  );
}

/** Arrow keys lead from the field through the list and back. */
function moveFocus(event: KeyboardEvent, list: HTMLElement | null): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || !list) return;
  event.preventDefault();
  const links = [...list.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement as HTMLAnchorElement) + step;
  const field = list.closest("form")?.querySelector("input");
  (at < 0 ? field : links[Math.min(at, links.length - 1)])?.focus();
}
