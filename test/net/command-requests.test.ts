// Tests that requests of the command line take their token nowhere but to the server named.
import { expect, test } from "bun:test";
import { openTextStream, requestJson } from "../../src/net/index.ts";

const headers = { authorization: "Bearer wadi_op_secret" };
const { signal } = new AbortController();

test.each([
  [
    "an operation",
    (url: string) => requestJson(url, { method: "GET", headers, timeoutMs: 60_000 }),
  ],
  ["a chat", (url: string) => openTextStream(url, { headers, body: "{}", signal })],
])("%s follows no redirect, even on its own server", async (_, ask) => {
  const paths: string[] = [];
  await using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      paths.push(new URL(request.url).pathname);
      return paths.length === 1 ? Response.redirect("/elsewhere", 307) : Response.json({});
    },
  });
  const failure = await ask(`http://127.0.0.1:${server.port}/here`).then(
    () => expect.unreachable(),
    (error: Error) => error,
  );
  expect(failure).toBeInstanceOf(Error);
  expect(paths).toEqual(["/here"]);
});
