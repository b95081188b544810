// The app with an agent and triggers of it, as tests of their routes ask for them.
import type { AskOptions, TestApp, TestAppOptions } from "../../support/app.ts";
import { createAgent, createTrigger, type Json, readJson, startService } from "./service.ts";

export const PATH = "/v1/triggers";

export interface TriggersFront extends TestApp, AsyncDisposable {
  agent: Json;
  /** Of kind webhook unless said otherwise, with a name that nobody has. */
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
  /** What came of each, the newest first. */
  listOutcomes(id: string): Promise<string[]>;
}

export const DAILY = { kind: "cron", cron: "30 9 * * *", time_zone: "Asia/Riyadh" };

let made = 0;
export const nextName = () => `Trigger ${++made}`;

export async function startTriggers(options: TestAppOptions = {}): Promise<TriggersFront> {
  const app = await startService(options);
  const agent = await createAgent(app);
  const create = (fields: object = {}, given?: AskOptions) =>
    createTrigger(app, { name: nextName(), agent_id: agent.id, ...fields }, given);
  return {
    ...app,
    agent,
    create,
    createDaily: (fields = {}, given) => create({ ...DAILY, ...fields }, given),
    askCreate: (fields, given) =>
      app.post(PATH, { name: nextName(), agent_id: agent.id, kind: "webhook", ...fields }, given),
    patch: (id, body, given) => app.ask("PATCH", `${PATH}/${id}`, { ...given, body }),
    remove: (id, given) => app.ask("DELETE", `${PATH}/${id}`, given),
    rotate: (id, body = {}, given) => app.post(`${PATH}/${id}/rotate-secret`, body, given),
    fire: (id, given) => app.post(`${PATH}/${id}/fires`, undefined, given),
    read: async (id) => readJson(await app.get(`${PATH}/${id}`)),
    async listOutcomes(id) {
      const { data } = await readJson(await app.get(`${PATH}/${id}/fires`));
      return data.map(({ outcome }: Json) => outcome);
    },
    [Symbol.asyncDispose]: () => app.stop(),
  };
}
