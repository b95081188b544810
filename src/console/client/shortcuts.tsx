// The list of keys, and the switch of single letters.
import { signal } from "@preact/signals";
import { areLettersOff, type KeyHint, switchLetters } from "./keyboard.ts";
import { Modal } from "./modal.tsx";
import type { NavigationItem } from "./navigation.ts";
import { type TextId, t } from "./texts.ts";

export const isListingKeys = signal(false);

const EVERYWHERE: readonly KeyHint[] = [
  { keys: ["?"], text: "shortcuts.list" },
  { keys: ["Ctrl", "K"], text: "jump.title" },
  { keys: ["/"], text: "shortcuts.search" },
  { keys: ["J", "K"], text: "shortcuts.move" },
  { keys: ["Enter"], text: "shortcuts.open" },
  { keys: ["Space"], text: "shortcuts.peek" },
  { keys: ["Esc"], text: "shortcuts.close" },
  { keys: ["C"], text: "shortcuts.copy" },
  { keys: ["."], text: "shortcuts.pause" },
  { keys: ["[", "]"], text: "shortcuts.range" },
];

function KeyGroup({ title, hints }: { title: TextId; hints: readonly KeyHint[] }) {
  if (hints.length === 0) return null;
  return (
    <section>
      <h3>{t(title)}</h3>
      <dl class="shortcuts">
        {hints.map(({ keys, text }) => (
          <div key={text}>
            <dt>{t(text)}</dt>
            <dd class="ltr">
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** `hints` are of the page that is open. */
export function KeyList({
  hints,
  places,
}: {
  hints: readonly KeyHint[];
  places: readonly NavigationItem[];
}) {
  if (!isListingKeys.value) return null;
  const close = () => {
    isListingKeys.value = false;
  };
  const known = new Set(EVERYWHERE.map(({ keys }) => keys.join()));
  const own = hints.filter(({ keys }) => !known.has(keys.join()) && keys[0] !== "G");
  const pairs = places.map(({ key, text }) => ({ keys: key.toUpperCase().split(" "), text }));
  return (
    <Modal title={t("shortcuts.title")} onClose={close}>
      <KeyGroup title="shortcuts.page" hints={own} />
      <KeyGroup title="shortcuts.everywhere" hints={EVERYWHERE} />
      <KeyGroup title="shortcuts.go" hints={pairs} />
      <label class="row">
        <input type="checkbox" checked={!areLettersOff.value} onChange={switchLetters} />
        {t("shortcuts.letters")}
      </label>
      <p class="row">
        <button class="b" type="button" onClick={close}>
          {t("shortcuts.done")}
        </button>
      </p>
    </Modal>
  );
}
