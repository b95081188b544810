// A proxy in front of the program that cuts streams and breaks replies off, as networks do.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface FlakyProxy extends AsyncDisposable {
  url: string;
  /** How many requests have come, by method and path. */
  requests: Map<string, number>;
  /** Behind so many frames each of the next streams ends, breaks, or stays open and silent. */
  cuts: { frames: number; by: "end" | "break" | "silence" }[];
  /** So many of the next replies break off, although their requests have arrived. */
  lost: number;
}

export async function openFlakyProxy(target: string): Promise<FlakyProxy> {
  const server = createServer((request, response) => void pass(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const proxy: FlakyProxy = {
    ...{ url: `http://127.0.0.1:${port}`, requests: new Map(), cuts: [], lost: 0 },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const name = `${method} ${url}`;
    proxy.requests.set(name, (proxy.requests.get(name) ?? 0) + 1);
    let body = "";
    for await (const chunk of request) body += chunk;
    const headers = new Headers();
    for (const one of ["authorization", "content-type", "idempotency-key"]) {
      const value = request.headers[one];
      if (typeof value === "string") headers.set(one, value);
    }
    const reply = await fetch(`${target}${url}`, { method, headers, ...(body && { body }) });
    const text = await reply.text();
    response.writeHead(reply.status, { "content-type": reply.headers.get("content-type")! });
    if (proxy.lost > 0) {
      proxy.lost--;
      response.write(text.slice(0, text.length / 2), () => response.destroy());
      return;
    }
    const cut = proxy.cuts.shift();
    if (!cut) return void response.end(text);
    const frames = text.split(/(?<=\n\n)/).slice(0, cut.frames);
    if (cut.by === "end") return void response.end(frames.join(""));
    response.write(`${frames.join("")}data: {"ty`, () => {
      if (cut.by === "break") response.destroy();
    });
  }

  return proxy;
}
