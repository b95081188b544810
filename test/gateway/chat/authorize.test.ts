// Tests which scopes a chat needs, and what is refused of its features.
import { expect, test } from "bun:test";
import type { Caller, Scope } from "../../../src/access/index.ts";
import {
  nameScopes,
  type RequestedFeatures,
  requireFeatures,
} from "../../../src/gateway/chat/authorize.ts";
import type { ServedModel } from "../../../src/models/index.ts";
import type { ApiError } from "../../../src/platform/errors.ts";

const model = (capabilities: string[] = [], think = "") =>
  ({ settings: { id: "m-1", capabilities, think } }) as unknown as ServedModel;

test.each<[Partial<RequestedFeatures>, think: string, scopes: string | null]>([
  [{}, "", null],
  [{ reasoning: true }, "", "reasoning"],
  [{ think: true }, "", "think"],
  [{}, "required", "think"],
  [{ reasoning: true, think: true }, "", "reasoning think"],
  [{ reasoning: true }, "required", "reasoning think"],
])("a request with %j of a model whose think is %j needs the scopes %p", (mode, think, scopes) => {
  expect(nameScopes({ messages: [], ...mode }, model([], think))).toBe(scopes);
});

const image = { content: [{ type: "text" }, { type: "image_url" }] };
const text = { content: "Hello" };

test.each<[title: string, Partial<RequestedFeatures>, Scope[], string[], refused: string | null]>([
  ["reasoning without its scope", { reasoning: true }, ["think"], ["reasoning"], "reasoning"],
  ["deep thinking without its scope", { think: true }, ["reasoning"], [], "think"],
  ["reasoning of a model without it", { reasoning: true }, ["reasoning"], [], "reasoning"],
  ["tools of a model without them", { tools: [{}] }, [], ["vision"], "tools"],
  ["an empty list of tools", { tools: [] }, [], [], null],
  ["an image behind a text", { messages: [text, image, text] }, [], [], "messages.1.content.1"],
  ["an image for a model that sees", { messages: [image] }, [], ["vision"], null],
  [
    "all that key and model can do",
    { reasoning: true, think: true, tools: [{}] },
    ["reasoning", "think"],
    ["reasoning", "tools"],
    null,
  ],
])("%s is allowed, or refused at its field", (_, mode, scopes, capabilities, refused) => {
  const attempt = () => {
    try {
      const caller = { scopes } as unknown as Caller;
      requireFeatures({ messages: [], ...mode }, model(capabilities), caller);
      return null;
    } catch (error) {
      return (error as ApiError).details.param;
    }
  };
  expect(attempt()).toBe(refused);
});
