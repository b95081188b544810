// A model's reply: where and how fast it came, its cost, its text and calls.
import { type Fact, Facts } from "../facts.tsx";
import { writeTook } from "../format.ts";
import { CodeBlock, indent } from "../json.tsx";
import { Outside } from "../parts.tsx";
import { Cost } from "../runs/table.tsx";
import { t } from "../texts.ts";
import type { ShownRun, StepItem } from "./data.ts";
import { Seen } from "./seen.tsx";
import { writePrice } from "./summary.tsx";

/** Characters above which an answer is a block that opens. */
const SHORT_CHARACTERS = 2_000;

/** A reply that is written faster has no speed that could be measured. */
const SPEED_MS_MIN = 50;

type Reply = StepItem & { kind: "assistant" };

export function ModelDetail({ run, step }: { run: ShownRun; step: Reply }) {
  const { content, tool_calls } = step.data;
  return (
    <>
      <ReplyFacts run={run} step={step} />
      <section>
        <h2>{t("run.answer")}</h2>
        {content === null && tool_calls.length === 0 && <p class="dim">{t("run.answer.none")}</p>}
        {content !== null && content.length <= SHORT_CHARACTERS && (
          <p class="soft lines">
            <Outside text={content} />
          </p>
        )}
        {content !== null && content.length > SHORT_CHARACTERS && (
          <CodeBlock text={content} label={t("run.answer")} />
        )}
        {tool_calls.map(({ id, name, arguments: text }) => (
          <CodeBlock key={id} text={`${name} ${indent(text)}`} label={name} />
        ))}
      </section>
      <Seen key={step.round} run={run.id} round={step.round} />
    </>
  );
}

function ReplyFacts({ run, step }: { run: ShownRun; step: Reply }) {
  const { model, usage, finish_reason, cost, duration_ms } = step.data;
  const { first_token_ms, waited_ms, replica, attempts } = step;
  const { prompt = null, completion = null } = run.cost.prices.models[model] ?? {};
  const writtenMs = first_token_ms === null ? 0 : duration_ms - first_token_ms;
  const speed =
    writtenMs >= SPEED_MS_MIN ? Math.round((1_000 * usage.completion_tokens) / writtenMs) : 0;
  const { prompt_tokens: read, completion_tokens: written } = usage;
  const facts: Fact[] = [
    [
      t("run.model"),
      <>
        <bdi>{model}</bdi>{" "}
        {replica !== null && <span class="dim ltr">{t("run.replica", replica)}</span>}
      </>,
    ],
    [
      t("run.waited_for"),
      waited_ms !== null && waited_ms > 0 && (
        <>
          {writeTook(waited_ms)} <span class="dim">{t("run.waited_for.says")}</span>
        </>
      ),
    ],
    [
      t("run.first"),
      first_token_ms !== null && (
        <>
          {writeTook(first_token_ms)}{" "}
          {speed > 0 && <span class="dim">{t("run.speed", speed)}</span>}
        </>
      ),
    ],
    [
      t("run.ended"),
      <code key="end">
        <Outside text={finish_reason} />
      </code>,
    ],
    [t("run.attempts"), attempts !== null && attempts > 1 && attempts],
    [
      t("run.cost"),
      <>
        <Cost sum={cost} /> {cost !== null && t("column.sar")}
        {cost !== null && prompt !== null && completion !== null && (
          <>
            <br />
            <span class="dim">
              {t("run.formula", read, writePrice(prompt), written, writePrice(completion))}
            </span>
          </>
        )}
      </>,
    ],
  ];
  return <Facts facts={facts} />;
}
