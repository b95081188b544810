// The first steps of a new installation, until all are done or they are hidden.
import { useSignal } from "@preact/signals";
import { useResource } from "../live.ts";
import { Head, Icon } from "../parts.tsx";
import { t } from "../texts.ts";
import type { HomeData } from "./data.ts";

/** Set in this browser once the steps were hidden or done. */
const HIDDEN = "first-steps";

/** Endpoints are made by their owner, with a key: the program has no command for it. */
const writeCurl = () =>
  [
    `curl ${location.origin}/v1/webhooks`,
    `-H "Authorization: Bearer $WADI_API_KEY" --json '{"url":"URL"}'`,
  ].join(" ");

export function FirstSteps({ data }: { data: HomeData }) {
  const isHidden = useSignal(localStorage.getItem(HIDDEN) !== null);
  const hide = () => {
    localStorage.setItem(HIDDEN, "hidden");
    isHidden.value = true;
  };
  return isHidden.value ? null : <Steps data={data} onHide={hide} />;
}

function Steps({ data, onHide }: { data: HomeData; onHide(): void }) {
  const keys = useResource<unknown[]>("/keys", ["keys"]).value.data;
  const runs = useResource<unknown[]>("/runs?limit=1", ["runs"]).value.data;
  const hasModel = data.models.some(({ upstream }) => upstream !== "stub");
  const hasBackup = Boolean(data.status.server?.backups?.made_at);
  const steps = [
    { text: t("step.serve"), command: "wadi serve", isDone: true },
    { text: t("step.model"), command: "wadi models probe URL --write", isDone: hasModel },
    {
      text: t("step.key"),
      command: "wadi keys create --account NAME",
      isDone: (keys?.length ?? 0) > 0,
    },
    {
      text: t("step.run"),
      command: "wadi runs start AGENT_ID TEXT",
      isDone: (runs?.length ?? 0) > 0,
    },
    {
      text: t("step.events"),
      command: writeCurl(),
      isDone: data.endpoints.length > 0,
    },
    { text: t("step.backup"), command: "wadi backup wadi.backup", isDone: hasBackup },
  ];
  const done = steps.filter(({ isDone }) => isDone).length;
  if (done === steps.length) return null;
  return (
    <section class="first">
      <Head
        title={t("home.steps")}
        says={t("home.steps.done", done, steps.length)}
        end={
          <button class="b quiet" type="button" onClick={onHide}>
            {t("home.steps.hide")}
          </button>
        }
      />
      <ul class="steps">
        {steps.map(({ text, command, isDone }) => (
          <li key={text} class={isDone ? "done" : ""}>
            <Icon id={isDone ? "s-ok" : "s-todo"} size={12} tone={isDone ? "ok" : "mute"} />
            <span>
              {text}
              {isDone && <span class="vh">{t("home.step.done")}</span>}
            </span>
            {!isDone && <code class="ltr">{command}</code>}
          </li>
        ))}
      </ul>
    </section>
  );
}
