// Waits for what a run does by its events: a test that asks again and again keeps a core busy.
import type { Server } from "./binary.ts";

/** Resolves once the events of a run show a text; throws if they end without it. */
export async function followRun(
  server: Server,
  id: string,
  shown: string,
  key?: string,
  query = "",
): Promise<void> {
  const reply = await server.ask("GET", `/v1/runs/${id}/events${query}`, { key });
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes(shown)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the run's events end without ${shown}: ${text}`);
    text += value;
  }
  await reader.cancel();
}
