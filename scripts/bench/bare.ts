// The yardstick: the least that a gateway in Bun could do, a pass-through that looks at nothing.

const [upstream = ""] = process.argv.slice(2);

const pass = async (request: Request): Promise<Response> => {
  const reply = await fetch(`${upstream}${new URL(request.url).pathname}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: await request.text(),
  });
  const type = reply.headers.get("content-type") ?? "";
  const body = type.startsWith("text/event-stream") ? reply.body : await reply.text();
  return new Response(body, { status: reply.status, headers: { "content-type": type } });
};

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT ?? 0),
  idleTimeout: 0,
  development: false,
  fetch: (request) => (request.method === "POST" ? pass(request) : new Response("ok\n")),
});
console.log(`http://127.0.0.1:${server.port}`);
// Ends with the process that started it; checked late, because its start is measured.
setTimeout(async () => {
  for await (const _ of Bun.stdin.stream());
  process.exit(0);
}, 1_000);
