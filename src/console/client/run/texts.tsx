// Input and output of a run, below its waterfall.
import { useSignal } from "@preact/signals";
import { Json } from "../json.tsx";
import { Outside } from "../parts.tsx";
import { isActive } from "../runs/selection.tsx";
import { t } from "../texts.ts";
import type { ShownRun } from "./data.ts";

const KB = 1_024;
/** Characters of a text that are shown before it is opened. */
const SHOWN_CHARACTERS = 600;

export function InputOutput({ run }: { run: ShownRun }) {
  const { input, output } = run;
  const none = run.status === "waiting_approval" ? "run.output.wait" : "runs.output.none";
  return (
    <dl class="io">
      <div>
        <dt>{t("runs.input")}</dt>
        <dd>
          <LongText text={input.message} />
          {input.content && (
            <span class="dim"> {t("run.input.images", input.content.filter(isImage).length)}</span>
          )}
          {"hook" in input && <Hook hook={input.hook} />}
        </dd>
      </div>
      <div>
        <dt>{t("runs.output")}</dt>
        <dd>
          {output ? (
            <LongText text={output.message} />
          ) : (
            <span class="dim">{t(isActive(run) ? none : "runs.output.no")}</span>
          )}
        </dd>
      </div>
    </dl>
  );
}

const isImage = ({ type }: { type: string }) => type === "image_url";

function LongText({ text }: { text: string }) {
  const isOpen = useSignal(false);
  const isLong = text.length > SHOWN_CHARACTERS;
  return (
    <>
      <span class="lines">
        <Outside text={isOpen.value ? text : text.slice(0, SHOWN_CHARACTERS)} />
      </span>
      {isLong && (
        <>
          {!isOpen.value && " … "}
          <Toggle
            isOpen={isOpen.value}
            onToggle={() => {
              isOpen.value = !isOpen.value;
            }}
          />
        </>
      )}
    </>
  );
}

function Toggle({ isOpen, onToggle }: { isOpen: boolean; onToggle(): void }) {
  return (
    <button class="link" type="button" aria-expanded={isOpen} onClick={onToggle}>
      {t(isOpen ? "code.less" : "code.more")}
    </button>
  );
}

function Hook({ hook }: { hook: unknown }) {
  const isOpen = useSignal(false);
  const size = `${(JSON.stringify(hook).length / KB).toFixed(1)} KB`;
  return (
    <>
      {" "}
      <span class="dim">{t("run.input.hook", size)}</span>{" "}
      <button
        class="link"
        type="button"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        {t(isOpen.value ? "code.less" : "run.more")}
      </button>
      {isOpen.value && <Json value={hook} label={t("run.hook")} />}
    </>
  );
}
