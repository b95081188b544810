// A program that the conformance package starts with the address of an MCP server: it has the
// server's tools called by an agent of the Wadi at WADI_URL.

export {};

const { WADI_URL, WADI_KEY, MCP_CONFORMANCE_SCENARIO = "", MCP_CONFORMANCE_CONTEXT } = process.env;
const ARGUMENTS = { a: 5, b: 3 };
const [given = ""] = process.argv.slice(2);

// biome-ignore lint/suspicious/noExplicitAny: replies of every shape.
type Json = any;

async function ask(method: string, path: string, body?: object): Promise<Json> {
  const reply = await fetch(WADI_URL + path, {
    ...{ method, body: body ? JSON.stringify(body) : null },
    headers: { authorization: `Bearer ${WADI_KEY}`, "content-type": "application/json" },
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
  return text.startsWith("{") ? JSON.parse(text) : text;
}

const read = async (url: string | URL): Promise<Json> => (await fetch(url)).json();

/** A connection is made by hand: the addresses are those that the server publishes. */
async function connect(url: string, name: string): Promise<Json> {
  if (!MCP_CONFORMANCE_CONTEXT) return {};
  const { client_id, client_secret } = JSON.parse(MCP_CONFORMANCE_CONTEXT);
  const [issuer] = (await read(new URL("/.well-known/oauth-protected-resource/mcp", url)))
    .authorization_servers;
  const { token_endpoint } = await read(new URL("/.well-known/oauth-authorization-server", issuer));
  const { id } = await ask("POST", "/v1/tools/connections", {
    ...{ name, kind: "client_credentials", secret: client_secret },
    oauth: { client_id, token_url: token_endpoint },
  });
  return { connection_id: id };
}

/** That scenario is one of 2025-11-25, but its server names an older revision. */
function openNewer(url: string): string {
  const server = Bun.serve({
    ...{ hostname: "localhost", port: 0, idleTimeout: 0 },
    async fetch(request) {
      const { method, headers } = request;
      const body = method === "POST" ? await request.text() : null;
      const reply = await fetch(url, { method, headers, body });
      if (!body?.includes('"initialize"')) return reply;
      const text = (await reply.text()).replace("2025-03-26", "2025-11-25");
      return new Response(text, { headers: { "content-type": "application/json" } });
    },
  });
  return server.url.href;
}

const url = MCP_CONFORMANCE_SCENARIO === "sse-retry" ? openNewer(given) : given;
const name = MCP_CONFORMANCE_SCENARIO.replaceAll(/[^a-z]/g, "").slice(0, 24);
const server = await ask("POST", "/v1/mcp/servers", { name, url, ...(await connect(url, name)) });
if (server.problem !== null) throw new Error(server.problem);
const tools: Json[] = (await ask("GET", `/v1/mcp/servers/${server.id}/tools`)).data;
for (const tool of tools) await ask("PATCH", `/v1/tools/${tool.name}`, { risk: "read" });
const names = tools.map((tool) => tool.name);
const agent = await ask("POST", "/v1/agents", { name, system_prompt: "Hi.", tools: names });
for (const one of names) {
  const message = `!tool ${one} ${JSON.stringify(ARGUMENTS)}\n!next\n!say Done.`;
  const { id } = await ask("POST", `/v1/agents/${agent.id}/runs`, { input: { message } });
  await ask("GET", `/v1/runs/${id}/events`);
  const { data } = await ask("GET", `/v1/runs/${id}/steps`);
  const { outcome, content } = data.find(({ kind }: Json) => kind === "tool_result").data;
  if (outcome !== "ok") throw new Error(`${one}: ${outcome} ${content}`);
}
process.exit(0);
