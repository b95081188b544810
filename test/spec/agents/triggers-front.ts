// The app with an agent and its triggers, for the tests of their routes.
import type { AskOptions, TestApp, TestAppOptions } from "../../support/app.ts";
import { createAgent, createTrigger, type Json, readJson, startService } from "./service.ts";

export const PATH = "/v1/triggers";

export interface TriggersFront extends TestApp, AsyncDisposable {
  agent: Json;
  /** Of kind webhook by default, with a unique name. */
  create(fields?: object, options?: AskOptions): Promise<Json>;
  /** Every day at half past nine, in Riyadh. */
  createDaily(fields?: object, options?: AskOptions): Promise<Json>;
  /** The whole response. */
  askCreate(fields: object, options?: AskOptions): Promise<Response>;
  patch(id: string, body: unknown, options?: AskOptions): Promise<Response>;
  remove(id: string, options?: AskOptions): Promise<Response>;
  rotate(id: string, body?: object, options?: AskOptions): Promise<Response>;
  fire(id: string, options?: AskOptions): Promise<Response>;
  read(id: string): Promise<Json>;
  /** The outcome of each fire, the newest first. */
  listOutcomes(id: string): Promise<string[]>;
}

export const DAILY = { kind: "cron", cron: "30 9 * * *", time_zone: "Asia/Riyadh" };

let made = 0;
export const nextName = () => `Trigger ${++made}`;

export async function startTriggers(options: TestAppOptions = {}): Promise<TriggersFront> {
  const app = await startService(options);
  const agent = await createAgent(app);
  const create = (fields: object = {}, askOptions?: AskOptions) =>
    createTrigger(app, { name: nextName(), agent_id: agent.id, ...fields }, askOptions);
  return {
    ...app,
    agent,
    create,
    createDaily: (fields = {}, askOptions) => create({ ...DAILY, ...fields }, askOptions),
    askCreate: (fields, askOptions) =>
      app.post(
        PATH,
        { name: nextName(), agent_id: agent.id, kind: "webhook", ...fields },
        askOptions,
      ),
    patch: (id, body, askOptions) => app.ask("PATCH", `${PATH}/${id}`, { ...askOptions, body }),
    remove: (id, askOptions) => app.ask("DELETE", `${PATH}/${id}`, askOptions),
    rotate: (id, body = {}, askOptions) =>
      app.post(`${PATH}/${id}/rotate-secret`, body, askOptions),
    fire: (id, askOptions) => app.post(`${PATH}/${id}/fires`, undefined, askOptions),
    read: async (id) => readJson(await app.get(`${PATH}/${id}`)),
    async listOutcomes(id) {
      const { data } = await readJson(await app.get(`${PATH}/${id}/fires`));
      return data.map(({ outcome }: Json) => outcome);
    },
    [Symbol.asyncDispose]: () => app.stop(),
  };
}
