// Clients of the Model Context Protocol by the official packages, in front of a server of ours.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  createTaskSessionFromClient,
  type TaskEnabledSession,
} from "@modelcontextprotocol/ext-tasks/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

export interface McpAddress {
  url: string;
  key: string;
}

const INFO = { name: "test", version: "1" };
const STATELESS = "2026-07-28";
export type Era = "legacy" | "auto";

/** The second generation of the package, which speaks both eras. */
export async function connectSecond({ url, key }: McpAddress, mode: Era): Promise<Client> {
  const client = new Client(INFO, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  return client;
}

export async function connectFirst({ url, key }: McpAddress): Promise<FirstClient> {
  const client = new FirstClient(INFO);
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new FirstTransport(new URL(`${url}/mcp`), { requestInit }) as never);
  return client;
}

/** Tasks of both eras; those of the stateless one are sent by a request of the test's own. */
export async function openTasks(
  address: McpAddress,
  mode: Era,
  clientCapabilities: object = {},
): Promise<TaskEnabledSession> {
  const client = await connectSecond(address, mode);
  const framing = {
    rawDispatch: (request: unknown) => dispatch(address, request as RawRequest),
    v2RequestFraming: { protocolVersion: STATELESS, clientInfo: INFO, clientCapabilities },
  };
  const options = { endpointId: "wadi", ...(mode === "auto" && framing) };
  return createTaskSessionFromClient(client, options as never);
}

interface RawRequest {
  method: string;
  params: { name?: string; taskId?: string };
}

async function dispatch({ url, key }: McpAddress, request: RawRequest): Promise<never> {
  const { method, params } = request;
  const reply = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      ...{ authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...{ accept: "application/json, text/event-stream", "mcp-protocol-version": STATELESS },
      ...{ "mcp-method": method, "mcp-name": params.name ?? params.taskId ?? "" },
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...request }),
  });
  return (await reply.json()) as never;
}
