// A link by which a teammate decides: made in a dialog, shown once, and copied.
import { useSignal } from "@preact/signals";
import { post } from "../api.ts";
import { Dialog, DialogButton } from "../dialog.tsx";
import { writeRecent } from "../format.ts";
import { TextField } from "../keys/form.tsx";
import { now, useResource } from "../live.ts";
import { copyText, Outside } from "../parts.tsx";
import { t } from "../texts.ts";
import type { ApprovalDetail } from "./data.ts";

interface MadeLink {
  person: string;
  token: string;
  url: string | null;
  expires_at: string;
}

/** A link in force, as the list of sessions has it. */
interface LinkLine {
  id: string;
  person: string | null;
  approval_id: string | null;
  expires_at: string;
}

const NAME_CHARACTERS_MAX = 60;
const LOCAL = /^(?:localhost|127\.|\[::1\])/;

export function ShareButton({ detail }: { detail: ApprovalDetail }) {
  const made = useSignal<MadeLink | null>(null);
  const links = useResource<LinkLine[]>("/sessions", ["sessions"]).value.data ?? [];
  const asked = links.filter(({ approval_id }) => approval_id === detail.approval.id);
  return (
    <span class="share">
      {asked.map(({ id, person, expires_at }) => (
        <span key={id} class="soft">
          <Outside text={t("share.asked", person!, writeRecent(expires_at, now.value))} />
        </span>
      ))}
      <DialogButton verb={t("share.open")}>
        {(close) => (
          <NameDialog
            detail={detail}
            onMade={(link) => {
              made.value = link;
            }}
            onClose={close}
          />
        )}
      </DialogButton>
      {made.value && (
        <LinkDialog
          link={made.value}
          onClose={() => {
            made.value = null;
          }}
        />
      )}
    </span>
  );
}

interface NameDialogProps {
  detail: ApprovalDetail;
  onMade(link: MadeLink): void;
  onClose(): void;
}

function NameDialog({ detail, onMade, onClose }: NameDialogProps) {
  const { approval, tool_title } = detail;
  const person = useSignal("");
  return (
    <Dialog
      title={t("share.title", tool_title ?? approval.tool)}
      verb={t("share.make")}
      keep={t("share.keep")}
      isReady={person.value.trim() !== ""}
      onConfirm={async () => {
        const asked = { id: approval.id, for: person.peek().trim() };
        onMade(await post<MadeLink>("/approvals/links", asked));
      }}
      onClose={onClose}
    >
      <p class="soft">{t("share.says")}</p>
      <TextField
        label={t("share.name")}
        hint={t("share.name.hint")}
        value={person.value}
        characters={NAME_CHARACTERS_MAX}
        onChange={(typed) => {
          person.value = typed;
        }}
      />
    </Dialog>
  );
}

function LinkDialog({ link, onClose }: { link: MadeLink; onClose(): void }) {
  const { person, token, expires_at } = link;
  const url = link.url ?? `${location.origin}/console/a#${token}`;
  return (
    <Dialog
      title={t("share.made.title")}
      verb={t("share.copy")}
      keep={t("share.done")}
      hasFocus
      onConfirm={() => copyText(url)}
      onClose={onClose}
    >
      <p class="soft">{t("share.made", person, writeRecent(expires_at, now.value))}</p>
      <output class="code" aria-label={t("share.link")}>
        {url}
      </output>
      {link.url === null && LOCAL.test(location.hostname) && (
        <p class="dim">{t("share.made.local")}</p>
      )}
    </Dialog>
  );
}
