// Bodies with which the tests of tools register them.
import type { AskOptions, TestApp } from "../../support/app.ts";
import { type Json, readJson } from "./service.ts";

export const PARAMETERS = {
  type: "object",
  properties: { to: { type: "string" } },
  required: ["to"],
};

/** The minimum of a registration. */
export const makeTool = (fields: Json = {}): Json => ({
  ...{ name: "send_letter", description: "Sends a letter.", parameters: PARAMETERS },
  endpoint: "https://api.example.com/letters",
  ...fields,
});

/** A new tool, as its registration answered. */
export async function register(
  app: TestApp,
  fields: Json = {},
  options: AskOptions = {},
): Promise<Json> {
  return readJson(await app.post("/v1/tools", makeTool(fields), options), 201);
}

/** A further revision of it, as it was answered. */
export async function revise(app: TestApp, name: string, fields: Json = {}): Promise<Json> {
  const { name: _, ...body } = makeTool(fields);
  return readJson(await app.post(`/v1/tools/${name}/revisions`, body), 201);
}
