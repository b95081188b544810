// The first steps of a new installation, until all are done or they are hidden.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { formatCurl, writeCommand, writeLocal } from "../curl.ts";
import { MESSAGE, TryApproval, useSampleKey, writeAgentCommand } from "../first-approval.tsx";
import { shortenId } from "../format.ts";
import { useResource } from "../live.ts";
import { copyText, Head, Icon } from "../parts.tsx";
import { t } from "../texts.ts";
import type { HomeData } from "./data.ts";

/** Set in this browser once the steps were hidden or done. */
const HIDDEN = "first-steps";

/** Decided approvals are among the newest, for those who have few. */
const APPROVALS = "/approvals?limit=20";

interface StepProps {
  text: string;
  href: string;
  command: string;
  isDone: boolean;
  act?: ComponentChildren;
}

export function FirstSteps({ data }: { data: HomeData }) {
  const isHidden = useSignal(localStorage.getItem(HIDDEN) !== null);
  const hide = () => {
    localStorage.setItem(HIDDEN, "hidden");
    isHidden.value = true;
  };
  return isHidden.value ? null : <Steps data={data} onHide={hide} />;
}

function useSteps({ models, endpoints, status }: HomeData): StepProps[] {
  const key = useSampleKey();
  const agents = useResource<{ id: string }[]>("/agents", ["agents"]).value.data;
  const runs = useResource<unknown[]>("/runs?limit=1", ["runs"]).value.data;
  const approvals = useResource<{ status: string }[]>(APPROVALS, ["approvals"]).value.data;
  const agent = agents?.[0] ? shortenId(agents[0].id) : "AGENT_ID";
  const event = { url: "https://HOST/PATH", events: ["run.completed"] };
  const steps: StepProps[] = [
    {
      ...{ text: t("step.approval"), href: "approvals" },
      command: writeCommand("approvals", "list", "--status", "pending"),
      isDone: approvals?.some((row) => row.status !== "pending") ?? false,
      act: <TryApproval />,
    },
    {
      ...{ text: t("step.model"), href: "models" },
      command: writeLocal("models", "probe", "http://HOST:PORT", "--write"),
      isDone: models.some(({ upstream }) => upstream !== "stub"),
    },
    {
      ...{ text: t("step.key"), href: "keys" },
      command: writeCommand("keys", "create", "--account", "default", "--scope", "agents"),
      isDone: key !== undefined,
    },
    {
      ...{ text: t("step.agent"), href: "agents", command: writeAgentCommand(key) },
      isDone: agents !== null && agents.length > 0,
    },
    {
      ...{ text: t("step.run"), href: "runs" },
      command: writeCommand("runs", "start", agent, MESSAGE),
      isDone: runs !== null && runs.length > 0,
    },
    {
      ...{ text: t("step.events"), href: "webhooks", command: formatCurl("/v1/webhooks", event) },
      isDone: endpoints.length > 0,
    },
  ];
  // Data in memory has no backup.
  if (status.database.kind === "memory") return steps;
  const isDone = Boolean(status.server?.backups?.made_at);
  const command = writeLocal("backup", "wadi.backup");
  return [...steps, { text: t("step.backup"), href: "/docs/backup", command, isDone }];
}

function Step({ text, href, command, isDone, act }: StepProps) {
  return (
    <li class={isDone ? "done" : ""}>
      <Icon id={isDone ? "s-ok" : "s-todo"} size={12} tone={isDone ? "ok" : "mute"} />
      <span class="row">
        <a class="x" href={new URL(href, `${location.origin}/console/`).pathname}>
          {text}
        </a>
        {isDone ? <span class="vh">{t("home.step.done")}</span> : act}
      </span>
      {!isDone && (
        <span class="row">
          <code class="ltr">{command}</code>
          <button
            class="b quiet"
            type="button"
            aria-label={t("code.copy", text)}
            onClick={() => copyText(command)}
          >
            <Icon id="i-copy" size={14} />
          </button>
        </span>
      )}
    </li>
  );
}

function Steps({ data, onHide }: { data: HomeData; onHide(): void }) {
  const steps = useSteps(data);
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
        {steps.map((step) => (
          <Step key={step.text} {...step} />
        ))}
      </ul>
    </section>
  );
}
