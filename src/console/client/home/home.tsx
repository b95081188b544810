// Home: what needs a person now, the last day, what runs, and the first steps.

import { writeCommand } from "../curl.ts";
import { now } from "../live.ts";
import { Head, Icon } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { route } from "../router.ts";
import { Sentence } from "../sentence.tsx";
import { type KeyHint, Page } from "../shell.tsx";
import { t } from "../texts.ts";
import { Running } from "./active-runs.tsx";
import { type HomeData, useHomeData } from "./data.ts";
import { LastDay } from "./day.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { listMatters, type Matter } from "./matters.tsx";

function Line({ tone, shape, title, says, parts = [], link }: Matter) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link in it does the same by keyboard.
    <li
      class={link ? "opens" : ""}
      onClick={({ target }) => {
        // Pressing anywhere follows the link; text can still be selected.
        if (!link || (target as Element).closest("a") || getSelection()?.toString()) return;
        if (link.href.startsWith("/console")) route(link.href);
        else location.assign(link.href);
      }}
    >
      <Icon id={`s-${shape}`} size={12} tone={tone} />
      <p>
        <b>
          <Sentence text={title} parts={parts} />
        </b>{" "}
        {says && (
          <span>
            <Sentence text={says} parts={parts} />
          </span>
        )}
      </p>
      {link && <a href={link.href}>{link.text}</a>}
    </li>
  );
}

function Needs({ data }: { data: HomeData }) {
  const matters = listMatters(data, now.value);
  return (
    <section>
      <Head title={t("home.needs")} />
      {matters.length === 0 ? (
        <p class="soft">{t("home.nothing")}</p>
      ) : (
        <ul class="need">
          {matters.map((matter, at) => (
            <Line key={`${matter.title} ${at}`} {...matter} />
          ))}
        </ul>
      )}
    </section>
  );
}

const HINTS: readonly KeyHint[] = [
  { keys: ["G", "A"], text: "keys.approvals" },
  { keys: ["G", "Q"], text: "keys.requests" },
];

export function Home() {
  const { data, failure } = useHomeData();
  return (
    <Page title="page.home" command={writeCommand("status")} hints={HINTS}>
      <Unready what={t("page.home")} resource={{ data, failure }} />
      {data && (
        <div class="page">
          <Needs data={data} />
          <LastDay />
          <div class="two">
            <Running status={data.status} />
            <FirstSteps data={data} />
          </div>
        </div>
      )}
    </Page>
  );
}
