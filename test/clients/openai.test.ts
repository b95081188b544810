// The npm package `openai` against the app on a port.
import { afterAll, beforeAll } from "bun:test";
import { KEY, startApp, type TestApp } from "../support/app.ts";
import { registerOpenaiSuite } from "./openai-suite.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ listens: true });
});
afterAll(() => app.stop());

registerOpenaiSuite("the npm package openai", () => ({ url: app.url, key: KEY }));
