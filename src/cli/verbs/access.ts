// The verbs of accounts and their keys.
import { account, type Verb } from "../verb.ts";

export const accessVerbs: readonly Verb[] = [
  {
    name: "accounts create",
    args: ["NAME"],
    flags: {},
    help: "a new account, the owner of keys and agents",
    run: async (given, output) => (await import("../accounts.ts")).createAccount(given, output),
  },
  {
    name: "accounts list",
    args: [],
    flags: {},
    help: "every account, and who is held",
    run: async (given, output) => (await import("../accounts.ts")).listAccounts(given, output),
  },
  {
    name: "accounts grant",
    args: ["NAME", "MODEL"],
    flags: {},
    help: "lets it call an external or private model",
    run: async (given, output) => (await import("../accounts.ts")).grantModel(given, output),
  },
  {
    name: "accounts ungrant",
    args: ["NAME", "MODEL"],
    flags: {},
    help: "takes a grant back",
    run: async (given, output) => (await import("../accounts.ts")).ungrantModel(given, output),
  },
  {
    name: "accounts hold",
    args: ["NAME"],
    flags: {
      reason: { takes: "TEXT", help: "that its owner is shown; without it none, also again" },
    },
    help: "its agents start no runs for now",
    run: async (given, output) => (await import("../accounts.ts")).holdAccount(given, output),
  },
  {
    name: "accounts release",
    args: ["NAME"],
    flags: {},
    help: "takes a hold back: what waits begins",
    run: async (given, output) => (await import("../accounts.ts")).releaseAccount(given, output),
  },
  {
    name: "keys create",
    args: [],
    flags: {
      account,
      "no-account": { help: "a key without an owner, which starts no runs" },
      internal: { help: "a platform-internal key, which may not call the API" },
      name: { takes: "TEXT", help: "for people" },
      scope: { takes: "S", multiple: true, help: "that it may use; several: several times" },
      model: { takes: "ID", multiple: true, help: "that it may call; several: several times" },
      "max-output-tokens": { takes: "N", help: "of a reply at most" },
      expires: { takes: "90d", help: "or 12h …: when it ends (default never)" },
    },
    help: "prints a new key, once",
    run: async (given, output) => (await import("../keys.ts")).createKey(given, output),
  },
  {
    name: "keys list",
    args: [],
    flags: { account },
    help: "keys, never their secrets",
    run: async (given, output) => (await import("../keys.ts")).listKeys(given, output),
  },
  {
    name: "keys revoke",
    args: ["KEY_ID"],
    flags: {},
    help: "refused from its next request on",
    run: async (given, output) => (await import("../keys.ts")).revokeKey(given, output),
  },
  {
    name: "keys rotate",
    args: ["KEY_ID"],
    flags: {
      overlap: { takes: "24h", help: "or 0s …: how long the old secret works (default 24h)" },
    },
    help: "prints a new secret of the same key, once",
    run: async (given, output) => (await import("../keys.ts")).rotateKey(given, output),
  },
];
