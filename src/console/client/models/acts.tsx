// Acts on a model: those that keep callers out ask first.
import { useSignal } from "@preact/signals";
import { useActs } from "../acts.tsx";
import { post } from "../api.ts";
import { Dialog } from "../dialog.tsx";
import { showToast } from "../parts.tsx";
import { t } from "../texts.ts";
import { listActs, type ModelAct, type ModelLine } from "./data.ts";

const ASKED = new Set<ModelAct>(["off", "block", "stop"]);

export const countInFlight = ({ servers }: ModelLine): number =>
  (servers ?? []).reduce((sum, { in_flight }) => sum + in_flight, 0);

interface ModelActsProps {
  model: ModelLine;
  /** The first act only: the others stand in the opened row. */
  isMain?: boolean;
  onDone(): void;
}

export function ModelActs({ model, isMain = false, onDone }: ModelActsProps) {
  const { isBusy, note, act } = useActs();
  const asked = useSignal<ModelAct | null>(null);
  const perform = async (verb: ModelAct) => {
    await post(`/models/${encodeURIComponent(model.id)}/${verb}`, {});
    showToast({ text: t(`models.done.${verb}`, model.id) });
    onDone();
  };
  const acts = isMain ? listActs(model).slice(0, 1) : listActs(model);
  return (
    <>
      {acts.map((verb) => (
        <button
          class="b"
          type="button"
          key={verb}
          aria-label={t("models.act_on", t(`models.act.${verb}`), model.id)}
          disabled={isBusy}
          onClick={() => {
            if (ASKED.has(verb)) asked.value = verb;
            else void act(t(`models.act.${verb}`), () => perform(verb));
          }}
        >
          {t(`models.act.${verb}`)}
        </button>
      ))}
      {note}
      {asked.value && (
        <Question
          model={model}
          verb={asked.value}
          onConfirm={() => perform(asked.peek()!)}
          onClose={() => {
            asked.value = null;
          }}
        />
      )}
    </>
  );
}

interface QuestionProps {
  model: ModelLine;
  verb: ModelAct;
  onConfirm(): Promise<void>;
  onClose(): void;
}

function Question({ model, verb, onConfirm, onClose }: QuestionProps) {
  const asked = verb as "off" | "block" | "stop";
  const count = countInFlight(model);
  return (
    <Dialog
      title={t(`models.ask.${asked}`, model.id)}
      verb={t(`models.act.${verb}`)}
      keep={t("models.keep")}
      {...{ onConfirm, onClose }}
    >
      <p>{t(`models.ask.${asked}.says`, count)}</p>
      {model.is_default && asked !== "stop" && <p>{t("models.ask.default")}</p>}
    </Dialog>
  );
}
