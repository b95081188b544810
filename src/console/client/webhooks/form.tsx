// The dialog that makes an endpoint, whose secret the page shows once.
import { useSignal } from "@preact/signals";
import { post } from "../api.ts";
import { writeCommand } from "../curl.ts";
import { Dialog, DialogButton } from "../dialog.tsx";
import { CheckList, ChoiceField, CommandLine, TextField } from "../keys/form.tsx";
import { revealSecret } from "../keys/secret.tsx";
import { useResource } from "../live.ts";
import { route } from "../router.ts";
import { t } from "../texts.ts";

const EVENTS = [
  ...["run.completed", "run.failed", "approval.requested", "approval.decided"],
  ...["trigger.fired", "limit.reached"],
];
const URL_CHARACTERS_MAX = 2_048;

export const CreateWebhook = () => (
  <DialogButton verb={t("webhooks.create")} kind="b go">
    {(close) => <WebhookForm onClose={close} />}
  </DialogButton>
);

function WebhookForm({ onClose }: { onClose(): void }) {
  const draft = useSignal({ account: "", url: "", events: [] as string[] });
  const accounts = useResource<{ name: string }[]>("/accounts").value.data ?? [];
  const { url, events, account } = draft.value;
  const owner = account || (accounts[0]?.name ?? "");
  const set = (fields: Partial<typeof draft.value>) => {
    draft.value = { ...draft.peek(), ...fields };
  };
  const create = async () => {
    const body = { account: owner, url, events };
    const { id, secret } = await post<{ id: string; secret: string }>("/webhooks", body);
    route(`/console/webhooks/${id}`);
    revealSecret({ id, name: url, secret, isCopied: false });
  };
  return (
    <Dialog
      title={t("webhooks.create")}
      verb={t("webhooks.create")}
      keep={t("form.cancel")}
      isReady={events.length > 0}
      onConfirm={create}
      onClose={onClose}
    >
      <ChoiceField
        label={t("filter.account")}
        value={owner}
        options={accounts.map(({ name }) => ({ value: name, text: name }))}
        onChange={(name) => set({ account: name })}
      />
      <TextField
        label={t("webhooks.url")}
        value={url}
        isRequired
        characters={URL_CHARACTERS_MAX}
        onChange={(typed) => set({ url: typed })}
      />
      <CheckList
        label={t("webhooks.column.events")}
        options={EVENTS.map((value) => ({ value }))}
        chosen={events}
        onChange={(chosen) => set({ events: chosen })}
      />
      <CommandLine
        text={writeCommand(
          ...["webhooks", "create", "--account", owner, "--url", url || "URL"],
          ...["--events", events.join() || "NAMES"],
        )}
      />
    </Dialog>
  );
}
