// The messages that the model saw in a round, read when a person asks for them.

import { signal, useSignal } from "@preact/signals";
import { indent } from "../json.tsx";
import { useResource } from "../live.ts";
import { FailureNote, Head, Icon, Outside } from "../parts.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";

interface SeenCall {
  id: string;
  name: string;
  arguments: string;
}

interface SeenMessage {
  role: string;
  content: string;
  characters: number;
  tool_calls: SeenCall[];
  tool: string | null;
  round: number | null;
  external: boolean;
  tokens: number;
}

interface SeenRound {
  round: number;
  messages: SeenMessage[];
  tools: string[];
  is_exact: boolean;
}

/** Once a person has asked, the messages of each chosen round are read. */
const isWanted = signal(false);
/** Messages of earlier rounds that are not worth folding. */
const FOLDED_MIN = 3;

export function Seen({ run, round }: { run: string; round: number }) {
  const path = isWanted.value ? `/runs/${run}/rounds/${round}` : null;
  const { data, failure } = useResource<SeenRound>(path).value;
  const tokens = data?.messages.reduce((sum, message) => sum + message.tokens, 0) ?? 0;
  return (
    <section>
      <Head
        title={t("run.seen")}
        says={data ? t("run.seen.says", data.messages.length, tokens) : undefined}
        end={
          !isWanted.value && (
            <button
              class="b"
              type="button"
              onClick={() => {
                isWanted.value = true;
              }}
            >
              {t("run.seen.show")}
            </button>
          )
        }
      />
      {failure && !data && <FailureNote what={t("run.seen")} failure={failure} />}
      {data && !data.is_exact && <p class="dim">{t("run.seen.changed")}</p>}
      {data && <Messages key={round} seen={data} />}
      {data && data.tools.length > 0 && (
        <p class="dim">
          <Outside text={t("run.seen.tools", data.tools.join(", "))} />
        </p>
      )}
    </section>
  );
}

function Messages({ seen: { messages, round } }: { seen: SeenRound }) {
  const isOpen = useSignal(false);
  const isEarlier = (message: SeenMessage) => message.round !== null && message.round < round - 1;
  const earlier = messages.filter(isEarlier);
  const isFolded = !isOpen.value && earlier.length >= FOLDED_MIN;
  const first = messages.findIndex(isEarlier);
  const rounds = earlier.map((message) => message.round!);
  return (
    <div class="msgs">
      {messages.map((message, at) => {
        if (!isFolded || !isEarlier(message)) return <Message key={at} message={message} />;
        if (at !== first) return null;
        return (
          <p key={at}>
            <span />
            <button
              class="link"
              type="button"
              onClick={() => {
                isOpen.value = true;
              }}
            >
              {t("run.seen.earlier", earlier.length, Math.min(...rounds), Math.max(...rounds))}
            </button>
          </p>
        );
      })}
    </div>
  );
}

/** Characters of a message in its closed line. */
const LINE_CHARACTERS = 120;

function Message({ message }: { message: SeenMessage }) {
  const { role, content, characters, tool_calls, tool, external, tokens } = message;
  const names = tool_calls.map(({ name }) => name).join(", ");
  return (
    <details>
      <summary>
        <span>{role}</span>
        <span class="cut">
          {(tool ?? names) !== "" && (
            <code>
              <Outside text={tool ?? names} />{" "}
            </code>
          )}
          {external ? (
            <span class="tag out">
              <Icon id="i-globe" size={11} />
              {t("run.outside")}
            </span>
          ) : (
            <Outside text={content.slice(0, LINE_CHARACTERS)} />
          )}
        </span>
        <span class="dim">{writeCount(tokens)}</span>
      </summary>
      <div class="body lines">
        <Outside text={content} />
        {tool_calls.map(({ id, name, arguments: text }) => (
          <pre class="code" key={id}>
            <Outside text={`${name} ${indent(text)}`} />
          </pre>
        ))}
        {content.length < characters && <span class="tag">{t("run.seen.cut", characters)}</span>}
      </div>
    </details>
  );
}
