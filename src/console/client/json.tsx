// JSON and other texts of any length, shown as text, closed where they are long.
import { useSignal } from "@preact/signals";
import { splitHidden } from "./hidden.ts";
import { copyText, Icon, Outside } from "./parts.tsx";
import { t } from "./texts.ts";

/** Characters above which a text is cut until it is opened. */
const CLOSED_CHARACTERS = 4_096;
/** Characters that a page shows at most: more would make it slow. */
const SHOWN_CHARACTERS_MAX = 256 * 1_024;

interface CodeBlockProps {
  text: string;
  label: string;
  /** Keeps each character of the text, with tags beside hidden ones. */
  isExact?: boolean;
}

/** Shows a text in the type of code, with a button that copies the whole. */
export function CodeBlock({ text, label, isExact = false }: CodeBlockProps) {
  const isOpen = useSignal(false);
  const isLong = text.length > CLOSED_CHARACTERS;
  const limit = isOpen.value ? SHOWN_CHARACTERS_MAX : CLOSED_CHARACTERS;
  return (
    <div class="code-box">
      <pre class="code">
        {isExact ? <Exact text={text.slice(0, limit)} /> : <Outside text={text.slice(0, limit)} />}
        {text.length > limit && <span class="tag">{t("code.cut", text.length, limit)}</span>}
      </pre>
      <p class="row">
        {isLong && (
          <button
            class="link"
            type="button"
            aria-expanded={isOpen.value}
            onClick={() => {
              isOpen.value = !isOpen.value;
            }}
          >
            {isOpen.value ? t("code.less") : t("code.more")}
          </button>
        )}
        <button
          class="b quiet"
          type="button"
          aria-label={t("code.copy", label)}
          onClick={() => copyText(text)}
        >
          <Icon id="i-copy" size={14} />
        </button>
      </p>
    </div>
  );
}

/** A hidden character is isolated, so that it moves no other one; its tag is no text. */
function Exact({ text }: { text: string }) {
  return (
    <>
      {splitHidden(text).map(({ kind, text: part, raw }, index) =>
        kind === "text" ? (
          <bdi key={index}>{part}</bdi>
        ) : (
          <bdi key={index} class="exact" data-code={part}>
            {raw}
          </bdi>
        ),
      )}
    </>
  );
}

/** Shows a value as indented JSON; its copy gives the same text. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return <CodeBlock text={JSON.stringify(value, null, 2) ?? "null"} label={label} />;
}

/** Writes JSON with its lines indented; any other text stays as it is. */
export function indent(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
