// A webhook receiver on loopback that verifies and records requests, and answers by script.
import { Webhook } from "standardwebhooks";

export interface Arrival {
  path: string;
  headers: Headers;
  text: string;
  id: string;
}

/** 204 by default. A promise that never resolves leaves the request unanswered. */
export type Answer = (arrival: Arrival, nth: number) => Response | Promise<Response>;

export interface WebhookReceiver extends AsyncDisposable {
  url: string;
  host: string;
  arrivals: readonly Arrival[];
  came(count: number): Promise<readonly Arrival[]>;
  answer(answer: Answer): void;
}

export function openWebhookReceiver(first?: Answer): WebhookReceiver {
  const arrivals: Arrival[] = [];
  const waiting = new Set<() => void>();
  let answer: Answer = first ?? (() => new Response(null, { status: 204 }));
  const server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0, idleTimeout: 0 },
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const { headers } = request;
      const text = await request.text();
      const arrival = { path: pathname + search, headers, text, id: headers.get("webhook-id")! };
      const nth = arrivals.push(arrival);
      for (const look of waiting) look();
      return answer(arrival, nth);
    },
  });
  const host = `127.0.0.1:${server.port}`;
  return {
    url: `http://${host}/hook`,
    host,
    arrivals,
    came(count) {
      return new Promise((resolve) => {
        const look = () => {
          if (arrivals.length < count) return;
          waiting.delete(look);
          resolve(arrivals);
        };
        waiting.add(look);
        look();
      });
    },
    answer(other) {
      answer = other;
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** The body verified by the standard's own library; throws for an invalid signature. */
export function verify({ text, headers }: Arrival, secret: string): unknown {
  return new Webhook(secret).verify(text, Object.fromEntries(headers));
}
