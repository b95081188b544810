// Tools of MCP servers in runs, with real servers of both versions of the official SDK.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { TestApp } from "../../../support/app.ts";
import { addServer, listTools, makeAgent, runOnce, setRisk, startMcp } from "./front.ts";
import { ECHO, openSessionPeer, openStatelessPeer, type PeerBehaviour } from "./peers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startMcp();
});
afterAll(() => app.stop());

const PEERS = [
  ["2026-07-28", "far", (behaviour: PeerBehaviour) => openStatelessPeer(behaviour)],
  ["2025-11-25", "streamed", (behaviour: PeerBehaviour) => openSessionPeer(behaviour)],
  [
    "2025-11-25",
    "json",
    (behaviour: PeerBehaviour) => openSessionPeer(behaviour, { isJson: true }),
  ],
] as const;

describe.each(PEERS)("a server of revision %s (%s)", (revision, name, open) => {
  test("is registered with its tools, and a run calls one", async () => {
    using peer = open({ tools: [ECHO] });
    const server = await addServer(app, peer.url, { name });
    expect(server).toMatchObject({
      ...{ name, url: peer.url, protocol_version: revision, title: "peer" },
      ...{ problem: null, skipped: [], timeout_ms: 30_000 },
    });
    const [tool] = await listTools(app, server.id);
    expect(tool).toMatchObject({ name: `${name}_echo`, tool: "echo", risk: "irreversible" });
    await setRisk(app, `${name}_echo`, "read");
    const agent = await makeAgent(app, [`${name}_echo`]);
    const { run, result } = await runOnce(app, agent, `${name}_echo`);
    expect(result).toMatchObject({ outcome: "ok", content: "hello", external: true });
    expect(run).toMatchObject({ status: "succeeded", external_content: true });
    const [call] = peer.calls;
    expect(call).toMatchObject({ name: "echo", arguments: { text: "hello" } });
    expect(call!.meta["idempotency-key"]).toBe(result.tool_call_id);
  });
});
