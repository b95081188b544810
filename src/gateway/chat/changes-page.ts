// The page /docs/changes says what is deprecated, since when and until when.
import type { Page } from "../../http/index.ts";
import { DEPRECATED_SINCE, SUNSET_AT } from "./deprecation.ts";

/** A page for people; it needs no key and loads nothing. */
export function createChangesPage(alias: string): Page {
  const headers = { "content-type": "text/html; charset=utf-8" };
  return { path: "/docs/changes", answer: () => new Response(writePage(alias), { headers }) };
}

function writePage(alias: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Changes of the interface</title>
<style>
body { font: 1rem/1.5 system-ui; max-width: 40rem; margin: 3rem auto; padding: 0 1rem }
</style>
<h1>Changes of the interface</h1>
<h2>Unknown model ids</h2>
<p>A chat request that names a model id which this service does not know is answered by the default
model. This is deprecated since ${writeDay(DEPRECATED_SINCE)}: such replies carry
<code>Deprecation</code>.</p>
<p>At 00:00 UTC on ${writeDay(SUNSET_AT)} it ends: the request is then answered with 404
<code>model_not_found</code>.</p>
<p>Requests that send <code>${alias}</code>, an id of <code>GET /v1/models</code>, or no
<code>model</code> are not affected.</p>
</html>
`;
}

function writeDay(instant: number): string {
  return new Date(instant).toLocaleDateString("en-GB", { dateStyle: "long", timeZone: "UTC" });
}
