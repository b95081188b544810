// A secret that is shown once, and the question before it is lost.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Dialog } from "../dialog.tsx";
import { writeExact } from "../format.ts";
import { copyText, Icon } from "../parts.tsx";
import { route } from "../router.ts";
import { t } from "../texts.ts";
import type { MadeSecret } from "./data.ts";

/** Secrets survive a walk to another page, until they are copied or given up. */
const secrets = signal<readonly (MadeSecret & { page: string })[]>([]);
const isAway = signal(false);

export function revealSecret(made: MadeSecret): void {
  secrets.value = [{ ...made, page: location.pathname }, ...secrets.peek()];
}

export const isNewKey = (id: string): boolean => secrets.value.some((made) => made.id === id);

const markCopied = (made: MadeSecret) => {
  secrets.value = secrets
    .peek()
    .map((one) => (one.secret === made.secret ? { ...one, isCopied: true } : one));
};
const forget = (made: MadeSecret) => {
  secrets.value = secrets.peek().filter(({ secret }) => secret !== made.secret);
};

/** The secrets of this page, at its top. */
export function Secrets() {
  useEffect(() => {
    isAway.value = false;
    const ask = (event: BeforeUnloadEvent) => {
      if (secrets.peek().some(({ isCopied }) => !isCopied)) event.preventDefault();
    };
    addEventListener("beforeunload", ask);
    return () => {
      removeEventListener("beforeunload", ask);
      secrets.value = secrets.peek().filter(({ isCopied }) => !isCopied);
      isAway.value = true;
    };
  }, []);
  return secrets.value.map((made) => <Secret key={made.secret} made={made} />);
}

function writeTitle({ name, previousUntil }: MadeSecret): string {
  if (previousUntil === undefined) return t("reveal.ready", name);
  const old =
    previousUntil === null ? t("reveal.only") : t("reveal.both", writeExact(previousUntil));
  return `${t("reveal.rotated", name)} ${old}`;
}

function Secret({ made }: { made: MadeSecret }) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), []);
  const copy = async () => {
    await copyText(made.secret);
    markCopied(made);
  };
  return (
    <section class="reveal" role="status" ref={box}>
      <div class="row">
        <Icon id="s-ok" size={12} tone="ok" />
        <b>
          <bdi>{writeTitle(made)}</bdi>
        </b>
        <span class="soft">{t("reveal.once")}</span>
      </div>
      <div class="secret">
        <output aria-label={t("reveal.secret")} onCopy={() => markCopied(made)}>
          {made.secret}
        </output>
        <button class="b go big" type="button" onClick={copy}>
          <Icon id={made.isCopied ? "s-ok" : "i-copy"} size={made.isCopied ? 12 : 14} />
          {made.isCopied ? t("reveal.copied") : t("reveal.copy")}
        </button>
        <LeaveButton made={made} />
      </div>
    </section>
  );
}

function LeaveButton({ made }: { made: MadeSecret }) {
  const leaving = useRef(signal(false)).current;
  return (
    <>
      <button
        class="b big"
        type="button"
        onClick={() => {
          if (made.isCopied) forget(made);
          else leaving.value = true;
        }}
      >
        {t("reveal.done")}
      </button>
      {leaving.value && (
        <LeaveDialog
          made={made}
          onClose={() => {
            leaving.value = false;
          }}
        />
      )}
    </>
  );
}

function LeaveDialog({ made, onClose }: { made: MadeSecret; onClose(): void }) {
  return (
    <Dialog
      title={t("reveal.leave", made.name)}
      verb={t("reveal.leave.verb")}
      keep={t("reveal.leave.keep")}
      onConfirm={async () => forget(made)}
      onClose={onClose}
    >
      <p class="soft">{t("reveal.leave.says")}</p>
    </Dialog>
  );
}

/** Asks on whichever page the person has gone to. */
export function LostSecret() {
  const [made] = secrets.value;
  if (!isAway.value || !made) return null;
  const back = () => {
    if (secrets.peek().includes(made)) route(made.page);
  };
  return <LeaveDialog key={made.secret} made={made} onClose={back} />;
}
