// Accounts and their keys, and the sessions of operators.
import { useSignal } from "@preact/signals";
import { writeCommand } from "../curl.ts";
import { Chip, FilterBar, SearchField, useQuery } from "../filters.tsx";
import { DAY_MS, shortenId } from "../format.ts";
import { useKeys } from "../keyboard.ts";
import { now, type Resource, useResource } from "../live.ts";
import { copyText, Empty, FailureNote, Outside, Segment } from "../parts.tsx";
import { useRows } from "../rows.ts";
import { type KeyHint, Page } from "../shell.tsx";
import { t } from "../texts.ts";
import { AccountSection } from "./account-section.tsx";
import { type AccountLine, endOf, type LimitLine, type ListedKey, nameKey } from "./data.ts";
import { RevokeDialog, RotateDialog } from "./key-dialogs.tsx";
import { AccountForm, KeyChangeForm, NewKeyForm } from "./key-form.tsx";
import { type KeyAct, KeyTable } from "./key-table.tsx";
import { LimitDialog, type LimitOwner } from "./limits.tsx";
import { Secrets } from "./secret.tsx";
import { Sessions } from "./sessions.tsx";

const HINTS: readonly KeyHint[] = [
  { keys: ["J", "K"], text: "keys.move" },
  { keys: ["N"], text: "keys.create" },
  { keys: ["/"], text: "keys.search" },
];
const ACCOUNTS_SHOWN = 25;

type OpenDialog =
  | { kind: "account" | "key" }
  | { kind: Exclude<KeyAct, "limit">; key: ListedKey }
  | { kind: "limits"; subject: LimitOwner };

const matches = (key: ListedKey, search: string): boolean =>
  [key.name ?? "", key.id, key.ends_in ?? "", ...key.scopes].some((text) =>
    text.toLowerCase().includes(search),
  );

/** Ended keys stay in sight for a day, so that nothing vanishes under the pointer. */
const isPast = (key: ListedKey): boolean => {
  const end = endOf(key, now.value);
  return end !== null && now.value - Date.parse(end) > DAY_MS;
};

const limitsOfKey = (key: ListedKey): LimitOwner => ({
  name: nameKey(key),
  path: `/keys/${key.id}/limits`,
  command: ["keys", "limit", shortenId(key.id)],
});

const limitsOfAccount = (name: string): LimitOwner => ({
  name,
  path: `/accounts/${encodeURIComponent(name)}/limits`,
  command: ["accounts", "limit", name],
});

export function Keys() {
  const [query, change] = useQuery();
  const dialog = useSignal<OpenDialog | null>(null);
  const accounts = useResource<AccountLine[]>("/accounts", ["accounts"]);
  const keys = useResource<ListedKey[]>("/keys", ["keys"]);
  const limits = useResource<LimitLine[]>("/limits", ["accounts", "requests"]);
  const isSessions = query.show === "sessions";
  const open = (next: OpenDialog | null) => {
    dialog.value = next;
  };
  useKeys({ n: () => open({ kind: "key" }) });
  const reload = () => {
    for (const one of [accounts, keys, limits]) one.reload();
  };
  const loaded = accounts.value.data && keys.value.data;
  return (
    <Page
      title="page.keys"
      says={
        loaded ? t("keys.title", accounts.value.data!.length, keys.value.data!.length) : undefined
      }
      command={writeView(query)}
      hints={HINTS}
      end={
        <>
          <Segment
            label={t("keys.show")}
            value={isSessions ? "sessions" : "accounts"}
            options={[
              { value: "accounts", text: t("keys.show.accounts") },
              { value: "sessions", text: t("keys.show.sessions") },
            ]}
            onChange={(show) => change({ show: show === "accounts" ? "" : show })}
          />
          <button class="b" type="button" onClick={() => open({ kind: "account" })}>
            {t("account.create")}
          </button>
          <button class="b go" type="button" onClick={() => open({ kind: "key" })}>
            {t("key.create")}
          </button>
        </>
      }
    >
      {!isSessions && <Filters keys={keys.value.data ?? []} />}
      <div class="page wide" aria-busy={!accounts.value.data && !accounts.value.failure}>
        <Secrets />
        {isSessions ? (
          <Sessions />
        ) : (
          <Accounts
            {...{ accounts: accounts.value, keys: keys.value, limits: limits.value.data ?? [] }}
            onOpen={open}
            onHeld={reload}
          />
        )}
      </div>
      {dialog.value && (
        <Opened
          dialog={dialog.value}
          accounts={accounts.value.data ?? []}
          onDone={reload}
          onClose={() => open(null)}
        />
      )}
    </Page>
  );
}

function writeView({ show, key }: Readonly<Record<string, string>>): string {
  if (show === "sessions") return writeCommand("operators", "sessions");
  return key ? writeCommand("keys", "show", shortenId(key)) : writeCommand("keys", "list");
}

interface OpenedKeyProps {
  dialog: OpenDialog;
  accounts: readonly AccountLine[];
  onDone(): void;
  onClose(): void;
}

function Opened({ dialog, accounts, ...then }: OpenedKeyProps) {
  switch (dialog.kind) {
    case "account":
      return <AccountForm {...then} />;
    case "key": {
      const names = accounts.map(({ name }) => name);
      return <NewKeyForm accounts={names} account={names[0] ?? ""} {...then} />;
    }
    case "revoke":
      return <RevokeDialog subject={dialog.key} {...then} />;
    case "rotate":
      return <RotateDialog subject={dialog.key} {...then} />;
    case "change":
      return <KeyChangeForm changed={dialog.key} {...then} />;
    case "limits":
      return <LimitDialog subject={dialog.subject} {...then} />;
  }
}

interface AccountsProps {
  accounts: Resource<AccountLine[]>;
  keys: Resource<ListedKey[]>;
  limits: readonly LimitLine[];
  onOpen(dialog: OpenDialog): void;
  onHeld(): void;
}

function Filters({ keys }: { keys: readonly ListedKey[] }) {
  const [query, change] = useQuery();
  const isPressed = query.ended === "1";
  const ended = keys.filter(isPast).length;
  return (
    <FilterBar>
      {(isPressed || ended > 0) && (
        <Chip
          isPressed={isPressed}
          count={ended}
          onPress={() => change({ ended: isPressed ? "" : "1" })}
        >
          {t("keys.ended")}
        </Chip>
      )}
      <span class="grow" />
      <SearchField
        label={t("keys.filter")}
        hint={t("keys.search.hint")}
        value={query.search ?? ""}
        onChange={(search) => change({ search })}
      />
    </FilterBar>
  );
}

function Accounts({ accounts, keys, limits, ...given }: AccountsProps) {
  const [{ key: opened }] = useQuery();
  const all = keys.data ?? [];
  const isUnknown = opened && keys.data && !all.some(({ id }) => id === opened);
  return (
    <>
      {accounts.failure && <FailureNote what={t("page.keys")} failure={accounts.failure} />}
      {keys.failure && <FailureNote what={t("keys.column.key")} failure={keys.failure} />}
      {isUnknown && (
        <p>
          <Outside text={t("keys.missing", shortenId(opened))} />{" "}
          <a href="/console/keys">{t("keys.missing.list")}</a>
        </p>
      )}
      {accounts.data?.length === 0 && (
        <Empty text={t("keys.empty")} command={writeCommand("accounts", "create", "acme")} />
      )}
      {accounts.data && <Groups accounts={accounts.data} keys={all} {...{ limits }} {...given} />}
    </>
  );
}

interface GroupsProps extends Omit<AccountsProps, "accounts" | "keys"> {
  accounts: readonly AccountLine[];
  keys: readonly ListedKey[];
}

function Groups({ accounts, keys, limits, onOpen, onHeld }: GroupsProps) {
  const [query, change] = useQuery();
  const count = useSignal(ACCOUNTS_SHOWN);
  const opened = query.key;
  const groups = groupKeys(accounts, keys, query);
  const visible = groups.slice(0, count.value);
  const chosen = useRows(
    visible.flatMap(({ shown }) => shown),
    {
      onOpen: (id) => change({ key: id === opened ? "" : id }),
      onCopy: (id) => void copyText(id),
      onClose: () => change({ key: "" }),
    },
  );
  const act = (kind: KeyAct, key: ListedKey) =>
    onOpen(kind === "limit" ? { kind: "limits", subject: limitsOfKey(key) } : { kind, key });
  if (groups.length === 0 && accounts.length > 0) {
    return (
      <div class="empty">
        <p>{t("keys.filtered", keys.length)}</p>
        <button class="b" type="button" onClick={() => change({ search: "", ended: "" })}>
          {t("keys.clear")}
        </button>
      </div>
    );
  }
  return (
    <>
      {visible.map(({ account, own, shown }) => (
        <AccountSection
          key={account?.name ?? ""}
          account={account}
          keys={own}
          limits={limits.filter((limit) => limit.account === account?.name)}
          onChangeLimits={(name) => onOpen({ kind: "limits", subject: limitsOfAccount(name) })}
          onHeld={onHeld}
        >
          {shown.length > 0 ? (
            <KeyTable keys={shown} opened={opened} chosen={chosen.value} onAct={act} />
          ) : (
            <p class="dim">{t("keys.none")}</p>
          )}
        </AccountSection>
      ))}
      {visible.length < groups.length && (
        <button
          class="b"
          type="button"
          onClick={() => {
            count.value += ACCOUNTS_SHOWN;
          }}
        >
          {t("keys.more", groups.length - visible.length)}
        </button>
      )}
    </>
  );
}

/** Keys by their account, as far as the filters match; those without an owner come last. */
function groupKeys(
  accounts: readonly AccountLine[],
  keys: readonly ListedKey[],
  query: Readonly<Record<string, string>>,
) {
  const search = (query.search ?? "").toLowerCase();
  const byAccount = Map.groupBy(keys, ({ account }) => account);
  const owners: (AccountLine | null)[] = [...accounts];
  if (byAccount.has(null)) owners.push(null);
  return owners
    .map((account) => {
      const own = byAccount.get(account?.name ?? null) ?? [];
      const isNamed = account?.name.toLowerCase().includes(search) ?? search === "";
      const shown = own.filter((key) => {
        if (key.id === query.key) return true;
        return (query.ended === "1" || !isPast(key)) && (isNamed || matches(key, search));
      });
      return { account, own, shown, isNamed };
    })
    .filter(({ shown, isNamed }) => isNamed || shown.length > 0);
}
