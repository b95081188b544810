// The playground: a chat with a model as a named account and key.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ApiFailure } from "../api.ts";
import { writeCommand, writeLocal } from "../curl.ts";
import { useQuery } from "../filters.tsx";
import { shortenId } from "../format.ts";
import { Json } from "../json.tsx";
import { type ListedKey, listUsable } from "../keys/data.ts";
import { now, useResource } from "../live.ts";
import { copyText, Empty, FailureNote, Head } from "../parts.tsx";
import { type KeyHint, Page } from "../shell.tsx";
import { t } from "../texts.ts";
import { MessageView, type SaidMessage } from "./message.tsx";
import { buildRequest, type ChatParameters, NO_PARAMETERS } from "./parameters.ts";
import { ChatSettings } from "./settings.tsx";
import { type ChatBody, streamChat, writeCurl } from "./stream.ts";

const HINTS: readonly KeyHint[] = [
  { keys: ["Enter"], text: "playground.send" },
  { keys: ["Shift", "Enter"], text: "playground.line" },
];

/** A message without an answer is not part of the conversation. */
const listMessages = (messages: readonly SaidMessage[]) =>
  messages
    .filter(
      ({ role, content }, at) => (role === "user" ? messages[at + 1] : { content })?.content !== "",
    )
    .map(({ role, content }) => ({ role, content }));

/** A page that showed each token by itself would stand still while a fast model writes. */
const SHOW_EVERY_MS = 100;

/** Sends the conversation, and collects the answer in its last message. */
function useConversation() {
  const messages = useSignal<readonly SaidMessage[]>([]);
  const leaving = useRef<AbortController | null>(null);
  const sent = useSignal<ChatBody | null>(null);
  useEffect(() => () => leaving.current?.abort(), []);
  const change = (fields: Partial<SaidMessage>) => {
    const all = messages.peek();
    messages.value = [...all.slice(0, -1), { ...all.at(-1)!, ...fields }];
  };
  const send = async (key: string, parameters: ChatParameters, content: string) => {
    const before = messages.peek();
    const asked: SaidMessage = { id: before.length, role: "user", content, state: "done" };
    const request = buildRequest(parameters, listMessages([...before, asked]));
    const answer: SaidMessage = {
      ...{ id: asked.id + 1, role: "assistant", content: "", state: "running", key },
    };
    messages.value = [...before, asked, answer];
    sent.value = request;
    const controller = new AbortController();
    leaving.current = controller;
    let unshown = "";
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (fields: Partial<SaidMessage> = {}) => {
      clearTimeout(timer);
      timer = undefined;
      change({ content: messages.peek().at(-1)!.content + unshown, ...fields });
      unshown = "";
    };
    try {
      await streamChat(key, request, {
        signal: controller.signal,
        onBegin: (requestId) => change({ requestId }),
        onText(text) {
          unshown += text;
          timer ??= setTimeout(() => show(), SHOW_EVERY_MS);
        },
      });
      show({ state: "done" });
    } catch (failure) {
      if (controller.signal.aborted) show({ state: "stopped" });
      else if (failure instanceof ApiFailure) show({ state: "failed", failure });
      else throw failure;
    } finally {
      sent.value = null;
    }
  };
  return { messages, sent, send, stop: () => leaving.current?.abort() };
}

export function Playground() {
  const [query, change] = useQuery();
  const list = useResource<ListedKey[]>("/keys", ["keys"]);
  const { data, failure } = list.value;
  const keys = listUsable(data ?? [], now.value);
  const chosen = keys.find(({ id }) => id === query.key) ?? keys[0];
  const parameters = useSignal<ChatParameters>({ ...NO_PARAMETERS, model: query.model ?? "" });
  const draft = useSignal("");
  const { messages, sent, send, stop } = useConversation();
  const next = [...listMessages(messages.value), { role: "user" as const, content: draft.value }];
  const request = sent.value ?? buildRequest(parameters.value, next);
  const submit = () => {
    const content = draft.peek();
    if (content.trim() === "" || !chosen || sent.peek()) return;
    draft.value = "";
    void send(chosen.id, parameters.peek(), content);
  };
  return (
    <Page
      title="page.playground"
      command={writeView(chosen, draft.value)}
      hints={HINTS}
      isFixed
      end={
        messages.value.length > 0 && (
          <button
            class="b"
            type="button"
            disabled={sent.value !== null}
            onClick={() => {
              messages.value = [];
            }}
          >
            {t("playground.clear")}
          </button>
        )
      }
    >
      {failure && <FailureNote what={t("keys.column.key")} failure={failure} />}
      <div class="panes">
        <section class="wfp talk" aria-label={t("playground.conversation")}>
          <Conversation messages={messages.value} hasKeys={!data || keys.length > 0} />
          <Composer
            draft={draft}
            isRunning={sent.value !== null}
            isReady={chosen !== undefined}
            onSend={submit}
            onStop={stop}
          />
        </section>
        <aside class="detail" aria-label={t("playground.parameters")}>
          <ChatSettings
            {...{ keys, chosen }}
            parameters={parameters.value}
            onChoose={(key) => change({ key })}
            onChange={(fields) => {
              parameters.value = { ...parameters.peek(), ...fields };
              if (fields.model !== undefined) change({ model: fields.model });
            }}
          />
          <RequestView request={request} />
        </aside>
      </div>
    </Page>
  );
}

function RequestView({ request }: { request: ChatBody }) {
  return (
    <section>
      <Head
        title={t("playground.request")}
        end={
          <button class="b" type="button" onClick={() => copyText(writeCurl(request))}>
            {t("playground.curl")}
          </button>
        }
      />
      <Json value={request} label={t("playground.request")} />
    </section>
  );
}

const writeView = (key: ListedKey | undefined, draft: string): string =>
  writeLocal(
    ...["keys", "chat", key ? shortenId(key.id) : "KEY_ID", draft || "Hello"],
    ...["--server", location.origin],
  );

function Conversation({
  messages,
  hasKeys,
}: {
  messages: readonly SaidMessage[];
  hasKeys: boolean;
}) {
  const list = useRef<HTMLOListElement>(null);
  const last = messages.at(-1);
  useEffect(() => {
    list.current?.lastElementChild?.scrollIntoView({ block: "nearest" });
  }, [messages.length, last?.content, last?.state]);
  if (!hasKeys) {
    return (
      <div class="page">
        <Empty
          text={t("playground.no_keys")}
          command={writeCommand("keys", "create", "--account", "default")}
        />
      </div>
    );
  }
  if (messages.length === 0) return <p class="page soft">{t("playground.empty")}</p>;
  return (
    <ol class="messages" ref={list} aria-live="polite" aria-busy={last?.state === "running"}>
      {messages.map((message) => (
        <MessageView key={message.id} message={message} />
      ))}
    </ol>
  );
}

interface ComposerProps {
  draft: Signal<string>;
  isRunning: boolean;
  isReady: boolean;
  onSend(): void;
  onStop(): void;
}

function Composer({ draft, isRunning, isReady, onSend, onStop }: ComposerProps) {
  const isEmpty = draft.value.trim() === "";
  return (
    <form
      class="decide words"
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      <label>
        {t("playground.message")}
        <textarea
          class="in"
          dir="auto"
          rows={2}
          value={draft.value}
          onInput={({ currentTarget }) => {
            draft.value = currentTarget.value;
          }}
          onKeyDown={(event) => {
            // An input method takes Enter for the word that is being written.
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            onSend();
          }}
        />
      </label>
      {/* One element for both would submit the draft at the end of the click that stops. */}
      {isRunning ? (
        <button key="stop" class="b" type="button" onClick={onStop}>
          {t("playground.stop")}
        </button>
      ) : (
        <button key="send" class="b go" type="submit" disabled={isEmpty || !isReady}>
          {t("playground.send.verb")}
        </button>
      )}
    </form>
  );
}
