// Webhook endpoints of every account: list, deliveries, attempts, replay, recover, test, enable.
import { Type } from "@sinclair/typebox";
import { GuardedEgress } from "../net/index.ts";
import { maybe, show, Timestamp } from "../platform/schema.ts";
import {
  createWebhookQueries,
  Delivery,
  type DeliveryStatus,
  type EndpointRow,
  type NewWebhook,
  SentAttempt,
  WebhookEndpoint,
} from "../webhooks/index.ts";
import type { AccountDirectory } from "./accounts.ts";
import { type AdminDeps, openDisk } from "./deps.ts";
import { AdminError, explainApiError, requireById, unknownId } from "./errors.ts";

const DAY_MS = 86_400_000;

const answer = {
  last_answer_at: maybe(Timestamp("End of the last attempt at its address; null before one.")),
  last_answer_status: maybe(
    Type.Integer({ description: "HTTP status of that attempt; null without a response." }),
  ),
  last_answer_error: maybe(
    Type.String({ description: "Error of that attempt, for people; null after a success." }),
  ),
};
const LastAnswer = Type.Object(answer);

export const OwnedEndpoint = Type.Object({
  account: Type.String({ description: "The owner's name." }),
  ...WebhookEndpoint.properties,
  ...answer,
  delivered_24h: Type.Integer({
    description: "Delivered ones of the last 24 hours; above 10000 of a type a lower bound.",
  }),
  failed_24h: Type.Integer({
    description: "Failed ones of the last 24 hours; above 10000 of a type a lower bound.",
  }),
});

export const DeliveryHistory = Type.Object({
  account: Type.String({ description: "The owner's name." }),
  ...Delivery.properties,
  attempts: Type.Array(SentAttempt, { description: "Its last 100 attempts, in order." }),
  body: maybe(
    Type.String({
      description: "JSON that each attempt sends, about 64 KiB at most; null once deleted.",
    }),
  ),
});

export interface DeliveryListOptions {
  status?: DeliveryStatus | undefined;
  /** Id of a delivery: it and newer ones are left out. */
  before?: string | undefined;
  limit: number;
}

/** Range of creation times; null ends it now. */
export interface RecoveryRange {
  since: number;
  until: number | null;
}

function createEndpointView(
  webhooks: ReturnType<typeof createWebhookQueries>,
  clock: AdminDeps["clock"],
) {
  return async (row: EndpointRow & { account: string }): Promise<Record<string, unknown>> => {
    const now = clock.now();
    const { delivered, failed } = await webhooks.countHealth(row.id, now - DAY_MS);
    return {
      account: row.account,
      ...webhooks.show(row, now),
      ...show(LastAnswer, row),
      ...{ delivered_24h: delivered, failed_24h: failed },
    };
  };
}

interface MakerDeps {
  webhooks: ReturnType<typeof createWebhookQueries>;
  directory: AccountDirectory;
  disk: ReturnType<typeof openDisk>;
  showOwned: ReturnType<typeof createEndpointView>;
}

/** The reply has the secret, which is stored sealed and shown by nothing else. */
function createMaker({ webhooks, directory, disk, showOwned }: MakerDeps) {
  return async (account: string, { events, ...body }: NewWebhook) => {
    const { id } = await directory.require(account);
    const { row, secret } = await explainApiError(async () => {
      disk.require();
      return webhooks.create(id, { ...body, events: [...new Set(events)] });
    });
    return { ...(await showOwned({ ...row, account })), id: row.id, secret };
  };
}

function readRange({ since, until }: RecoveryRange, clock: AdminDeps["clock"]) {
  const range = { since, until: until ?? Math.max(since, clock.now()) };
  if (range.since > range.until) throw new AdminError("the span ends before it begins");
  return range;
}

export function createWebhookAdmin(deps: AdminDeps, directory: AccountDirectory) {
  const { clock, settings } = deps;
  const egress = new GuardedEgress({ clock, allow: () => settings.egress.allow });
  const webhooks = createWebhookQueries({ ...deps, egress, settings: () => settings });
  const disk = openDisk(deps);
  const require = (typed: string) => requireById("endpoint", typed, webhooks.find);
  const requireDelivery = (typed: string) => requireById("delivery", typed, webhooks.findDelivery);

  const showOwned = createEndpointView(webhooks, clock);
  return {
    create: createMaker({ webhooks, directory, disk, showOwned }),
    async list(account: string | null) {
      const found = await directory.list(account, webhooks.list);
      const listed: Record<string, unknown>[] = [];
      for (const row of found) listed.push(await showOwned(row));
      return listed;
    },
    show: async (typed: string) => showOwned(await directory.addName(await require(typed))),
    async listDeliveries(
      typed: string,
      { before, ...asked }: DeliveryListOptions,
    ): Promise<Delivery[]> {
      const { id: webhookId } = await require(typed);
      const last = before === undefined ? null : await requireDelivery(before);
      const place = last && { at: last.created_at, id: last.id };
      return webhooks.listDeliveries({ webhookId, before: place, ...asked });
    },
    find: webhooks.find,
    findDelivery: (id: string): Promise<Delivery | undefined> => webhooks.findDelivery(id),
    async showDelivery(typed: string) {
      const found = await requireDelivery(typed);
      const { account } = await directory.addName(found);
      return { account, ...show(Delivery, found), ...(await webhooks.listSent(found)) };
    },
    /** Makes a delivery due at once with the same `webhook-id`, where its state allows it. */
    async replay(typed: string): Promise<Delivery> {
      const found = await requireDelivery(typed);
      return explainApiError(() => webhooks.replay(found));
    },
    /** Makes failed and cancelled deliveries due again; returns their number. */
    async recover(typed: string, asked: RecoveryRange): Promise<number> {
      const found = await require(typed);
      const range = readRange(asked, clock);
      return explainApiError(() => webhooks.recover(found, range));
    },
    async countLost(typed: string, asked: RecoveryRange): Promise<number> {
      const { id } = await require(typed);
      return webhooks.countLost(id, readRange(asked, clock));
    },
    /** Sends a test event once, also where its type is not selected. */
    async test(typed: string): Promise<Delivery> {
      const found = await require(typed);
      return explainApiError(async () => {
        disk.require();
        return webhooks.test(found);
      });
    },
    /** `isChanged` is false for an endpoint that is enabled already. */
    async enable(typed: string) {
      const found = await require(typed);
      const row = (await webhooks.enable(found)) ?? unknownId("endpoint", found.id);
      const endpoint = await showOwned(await directory.addName(row));
      return { endpoint, isChanged: found.status === "disabled" };
    },
  };
}
