// The libraries by which agents of others use /mcp: where WADI_TEST_MCP_ADAPTERS names a folder with
// its `node_modules`, @ai-sdk/mcp and @langchain/mcp-adapters; in Python langchain-mcp-adapters and
// openai-agents.
import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs } from "ai";
import { AGENTS_PYTHON, hasPython, runPython } from "../support/python.ts";
import { baseOf, registerDev } from "./dev.ts";

const ASK = '!tool guide {"message":"Hello"}';
const SAID = "You said: Hello";

/** The file of a package; undefined: it is not there. */
function find(name: string): string | undefined {
  try {
    return Bun.resolveSync(name, process.env.WADI_TEST_MCP_ADAPTERS ?? "/nowhere");
  } catch {
    console.log(`${name} is not there: not tried.`);
    return undefined;
  }
}
const vercel = find("@ai-sdk/mcp");
const langchain = find("@langchain/mcp-adapters");
const hasAdapters = hasPython(
  ["-c", "import langchain_mcp_adapters, agents"],
  "langchain-mcp-adapters and openai-agents for Python",
  AGENTS_PYTHON,
);

const dev = registerDev({ isOwn: true });
const place = () => ({
  url: `${dev().url}/mcp`,
  headers: { authorization: `Bearer ${dev().key}` },
});
beforeAll(async () => {
  const body = { name: "Guide", slug: "guide", system_prompt: "Be brief.", expose: true };
  expect((await dev().ask("POST", "/v1/agents", { body })).status).toBe(201);
});

test.skipIf(!vercel)("the AI SDK calls an agent of ours by @ai-sdk/mcp", async () => {
  const { createMCPClient } = await import(vercel!);
  const client = await createMCPClient({ transport: { type: "http", ...place() } });
  const tools = await client.tools();
  const model = createOpenAI({ baseURL: baseOf(dev()), apiKey: dev().key! })("svc");
  const { text, steps } = await generateText({
    ...{ model, tools, stopWhen: stepCountIs(3), prompt: ASK },
  });
  expect(text).toContain(SAID);
  expect(steps).toHaveLength(2);
  await client.close();
});

test.skipIf(!langchain)("@langchain/mcp-adapters lists and calls agents of ours", async () => {
  const { MultiServerMCPClient } = await import(langchain!);
  const mcpServers = { wadi: { transport: "http", ...place() } };
  const client = new MultiServerMCPClient({ mcpServers });
  const tools: { name: string; invoke(input: object): Promise<unknown> }[] =
    await client.getTools();
  const guide = tools.find(({ name }) => name === "guide")!;
  expect(JSON.stringify(await guide.invoke({ message: "Hello" }))).toContain(SAID);
  await client.close();
});

test.skipIf(!hasAdapters)("in Python LangChain and the OpenAI Agents SDK do so too", async () => {
  const { url, key } = dev();
  const program = join(import.meta.dir, "mcp_adapters_client.py");
  expect(JSON.parse(await runPython(program, [url, key!], AGENTS_PYTHON))).toEqual({
    ...{ langchain: true, agents: true },
  });
});
