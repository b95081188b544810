// Servers of the official Python package `mcp`, version 1 or 2, whose tools an agent calls. Needs a
// Python with it: WADI_TEST_PYTHON, or the one on the path.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { TestApp } from "../../../support/app.ts";
import { findClosedPort } from "../../../support/ports.ts";
import { hasPython, PYTHON } from "../../../support/python.ts";
import { addServer, makeAgent, runOnce, setRisk, startMcp } from "./front.ts";

const isThere = hasPython(["-c", "import mcp.server, uvicorn"], "mcp for Python");

describe.skipIf(!isThere)("a server of the Python package mcp", () => {
  let app: TestApp;
  let server: Bun.Subprocess<"ignore", "ignore", "pipe">;
  let url = "";
  beforeAll(async () => {
    app = await startMcp();
    const port = findClosedPort();
    url = `http://127.0.0.1:${port}/mcp`;
    const program = join(import.meta.dir, "python_server.py");
    server = Bun.spawn([PYTHON, program, String(port)], {
      ...{ stdin: "ignore", stdout: "ignore", stderr: "pipe" },
    });
    const listening = Promise.withResolvers<void>();
    // Read to its end: a server that cannot write its log answers 500.
    const reading = async () => {
      let told = "";
      const decoder = new TextDecoder();
      for await (const piece of server.stderr) {
        told += decoder.decode(piece, { stream: true });
        if (told.includes("Uvicorn running")) listening.resolve();
      }
      listening.reject(new Error(told));
    };
    void reading();
    await listening.promise;
  });
  afterAll(async () => {
    server.kill();
    await server.exited;
    await app.stop();
  });

  test("is read in the newest revision that it speaks, and its tools are called", async () => {
    const { problem, protocol_version } = await addServer(app, url, { name: "py" });
    expect(problem).toBeNull();
    expect(["2026-07-28", "2025-11-25"]).toContain(protocol_version);
    for (const name of ["py_add", "py_fail"]) await setRisk(app, name, "read");
    const agent = await makeAgent(app, ["py_add", "py_fail"]);
    const added = await runOnce(app, agent, "py_add", { a: 5, b: 3 });
    expect(added.result).toMatchObject({ outcome: "ok", content: "8", external: true });
    const failed = await runOnce(app, agent, "py_fail", {});
    expect(failed.result).toMatchObject({ outcome: "error", external: true });
    expect(failed.result.content).toStartWith("The tool failed.");
    expect(failed.run.status).toBe("succeeded");
  });
});
