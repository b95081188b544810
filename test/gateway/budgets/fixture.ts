// The app before a scripted model server that counts tokens and keeps to `max_tokens`, and budgets
// of its account.
import type { LimitChange } from "../../../src/access/index.ts";
import type { UsedAmounts } from "../../../src/gateway/budgets/amounts.ts";
import { budgetStore } from "../../../src/gateway/budgets/store.ts";
import { allow } from "../../spec/gateway/keys.ts";
import { type AskOptions, startApp, type TestApp, type TestAppOptions } from "../../support/app.ts";
import {
  type AskedRequest,
  answerText,
  type ScriptedUpstream,
  startUpstream,
} from "../../support/upstream.ts";

/** Tokens of every prompt by the server's own count. */
export const PROMPT = 10;
const PRICE = 'price = { prompt = "1.00", completion = "2.00" }';

export interface BudgetFront extends Omit<TestApp, "ask">, AsyncDisposable {
  upstream: ScriptedUpstream;
  account_id: string;
  key: string;
  key_id: string;
  limit(change: LimitChange): Promise<void>;
  limitKey(change: LimitChange): Promise<void>;
  /** A chat with this `max_tokens` by the limited account. */
  ask(max_tokens: number, fields?: object, options?: AskOptions): Promise<Response>;
  /** Status, or status and code of an error, with Retry-After and x-should-retry. */
  outcome(reply: Promise<Response>): Promise<string>;
  /** Use of the account on this day in the database, once all is written. */
  used(subject?: string): Promise<UsedAmounts>;
  reservations(): Promise<number>;
}

export interface BudgetFrontOptions extends TestAppOptions {
  model?: string;
  /** Settings before the models. */
  head?: string;
  /** Secret of the limited key, where the place has it from an earlier start. */
  key?: string;
}

export async function openBudgetFront(options: BudgetFrontOptions = {}): Promise<BudgetFront> {
  const { model = PRICE, head = "", key: earlier, ...appOptions } = options;
  const upstream = startUpstream((asked) => answerWhole(asked));
  const settings = `
${head}
[limits]
requests_per_minute = 1_000_000
[[models]]
id = "test-1"
self_hosted = true
max_output_tokens = 8192
capabilities = ["streaming", "tools"]
${model}
[models.upstream]
kind = "openai"
urls = ["${upstream.url}"]
`;
  const app = await startApp({ settings, ...appOptions });
  const { access, database } = app.app;
  const name = "acme";
  const known = await access.accounts.find(name);
  const made = known
    ? null
    : await allow(app, name, { scopes: ["think", "embeddings", "search", "agents"] });
  const account_id = known?.id ?? made!.account_id;
  const [key] = await access.keys.list(account_id);
  const store = database.bind(budgetStore);
  const stop = async () => {
    await app.stop();
    await upstream.stop();
  };
  const front: BudgetFront = {
    ...app,
    upstream,
    account_id,
    key: made?.key ?? earlier!,
    key_id: key!.id,
    async limit(change) {
      await access.accounts.limit(account_id, change);
    },
    async limitKey(change) {
      await access.keys.limit(key!.id, change);
    },
    ask: (max_tokens, fields = {}, options = {}) =>
      app.chat("Hello", { max_tokens, ...fields }, { key: front.key, ...options }),
    async outcome(reply) {
      const response = await reply;
      const { status, headers } = response;
      const { code } = (await response.json()) as { code?: string };
      const wait = headers.get("retry-after");
      const final = headers.get("x-should-retry") && "final";
      return [status, code, wait && `after ${wait}`, final].filter(Boolean).join(" ");
    },
    async used(subject = `account ${account_id}`) {
      await app.clock.advance(0);
      return store.sum(subject, 900_000, 0, Number.MAX_SAFE_INTEGER);
    },
    reservations: async () => (await store.listReservations()).length,
    stop,
    [Symbol.asyncDispose]: stop,
  };
  return front;
}

/** Counts every prompt as `PROMPT`, and uses all of `max_tokens` unless `tokens` is given. */
export async function answerWhole({ path, body }: AskedRequest, tokens?: number) {
  if (path.endsWith("/tokenize")) return Response.json({ count: PROMPT });
  const completion_tokens = tokens ?? (body.max_tokens as number);
  const reply = (await answerText("Hi").json()) as object;
  const usage = { prompt_tokens: PROMPT, completion_tokens };
  return Response.json({ ...reply, usage });
}
