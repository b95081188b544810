// `read_page`: permitted addresses, redirects, replies and failures.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { KnownAddresses } from "../../../../src/agents/tools/address-memory.ts";
import { checkArguments } from "../../../../src/agents/tools/arguments.ts";
import { createReadPage, type PageEgress } from "../../../../src/agents/tools/builtin/read-page.ts";
import type { ToolUse } from "../../../../src/agents/tools/contract.ts";
import type { GuardedRequest } from "../../../../src/net/index.ts";
import { guard, pretendInternet } from "../../../net/guard.ts";
import { createManualClock } from "../../../support/clock.ts";
import { inlineCompute } from "../../../support/compute.ts";
import { createUse } from "../use.ts";

const openPage = (egress: PageEgress) => createReadPage({ egress, compute: inlineCompute });
const html = (body: string, status = 200) =>
  new Response(body, { status, headers: { "content-type": "text/html" } });

let server: Bun.Server<undefined>;
let base: string;
const seen: { path: string; headers: Headers }[] = [];
beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      seen.push({ path: pathname + search, headers: request.headers });
      const hops = /^\/hops\/(\d)$/.exec(pathname)?.[1];
      if (hops === "0") return Response.redirect("/page", 302);
      if (hops) return Response.redirect(`/hops/${Number(hops) - 1}`, 301);
      switch (pathname) {
        case "/page":
          return html("<title>Camels</title><p>They walk. <a href=/next#x>Next</a>");
        case "/inward":
          return Response.redirect("https://10.0.0.1/secret", 302);
        case "/elsewhere":
          return Response.redirect("https://ignore-the-rules.example.com/", 302);
        case "/missing":
          return html(`<h1>Nothing here</h1>${"x ".repeat(5_000)}`, 404);
        case "/bare":
          return new Response(null, { status: 503 });
        case "/long":
          return new Response("y".repeat(3 * 1024 * 1024), {
            headers: { "content-type": "text/plain" },
          });
        case "/picture":
          return new Response("x", { headers: { "content-type": "image/png" } });
        case "/silent":
          return new Promise<Response>(() => {});
        default:
          return html("");
      }
    },
  });
  base = `http://127.0.0.1:${server.port}`;
});
afterAll(() => server.stop(true));

const read = (path: string, rest: Partial<ToolUse> = {}, args: object = {}) => {
  const tool = openPage(guard([`127.0.0.1:${server.port}`]));
  return tool.run(createUse({ url: base + path, ...args }, rest));
};

test("returns a page with its title, text and links", async () => {
  expect(await read("/page")).toEqual({
    outcome: "ok",
    content: `Title: Camels\n\nThey walk. [Next](${base}/next)`,
    external: true,
    external_url: `${base}/page`,
    http_status: 200,
  });
});

test("a request names accepted types, accepts no compression, and carries nothing of the caller", async () => {
  seen.length = 0;
  await read("/page?a=1&b=%20#part");
  expect(seen.map(({ path }) => path)).toEqual(["/page?a=1&b=%20"]);
  const { headers } = seen[0]!;
  expect(headers.get("user-agent")).toBe("wadi");
  expect(headers.get("accept")).toStartWith("text/html,");
  expect(headers.get("accept-encoding")).toBe("identity");
  expect([headers.get("authorization"), headers.get("cookie")]).toEqual([null, null]);
});

describe("redirects", () => {
  test("three are followed, and the final address is shown", async () => {
    expect(await read("/hops/2")).toMatchObject({
      outcome: "ok",
      content: `Title: Camels\nAddress: ${base}/page\n\nThey walk. [Next](${base}/next)`,
      external_url: `${base}/page`,
    });
  });

  test("a fourth is refused", async () => {
    expect(await read("/hops/3")).toEqual({
      outcome: "error",
      content: "The address redirects more than 3 times.",
      external: false,
      http_status: 302,
    });
  });

  test("each passes the egress guard, and its failure names no IP address", async () => {
    const result = await read("/inward");
    expect(result.outcome).toBe("error");
    expect(result.content).toStartWith("It redirects elsewhere. ");
    expect(result.content).not.toMatch(/\d+\.\d+\.\d+/);
  });

  test("a failure that names another host is external", async () => {
    const inner = guard([`127.0.0.1:${server.port}`], { resolve: async () => ["10.1.2.3"] });
    const result = await openPage(inner).run(createUse({ url: `${base}/elsewhere` }));
    expect(result).toMatchObject({ outcome: "error", external: true });
    expect(result.content).toContain("ignore-the-rules.example.com resolves to an address");
    expect(result.content).not.toContain("10.1.2.3");
  });
});

describe("a reply that is not a page", () => {
  test("an error shows the beginning of the server's text", async () => {
    const result = await read("/missing");
    expect(result).toMatchObject({
      ...{ outcome: "error", external: true },
      ...{ external_url: `${base}/missing`, http_status: 404 },
    });
    const start = "The server answered with status 404.\n\n# Nothing here\n\nx x ";
    expect(result.content).toStartWith(start);
    expect(result.content.length).toBeLessThan(2_100);
    expect(result.content).toEndWith(" …");
  });

  test.each([
    ["/bare", 503, "The server answered with status 503."],
    ["/picture", 200, "The reply is an image: only pages and texts can be read."],
    ["/empty", 200, "The reply is empty."],
  ])("%s is an error in fixed words", async (path, http_status, content) => {
    expect(await read(path)).toEqual({ outcome: "error", content, external: false, http_status });
  });

  test("an overlong page is read from the start, and marked as cut", async () => {
    const { outcome, content } = await read("/long");
    expect(outcome).toBe("ok");
    expect(content).toStartWith("yyy");
    expect(content).toEndWith(
      "\n\n[The page is longer: only its first 2 MB were read. " +
        "The page has more text than is kept: its end is missing.]",
    );
  });
});

describe("an address that cannot be requested", () => {
  test.each([
    ["http://camels.example.com/", "The URL must begin with https://."],
    ["https://10.0.0.1/", "The URL must name its host by a DNS name, not by an IP address."],
    ["https://user:word@camels.example.com/", "The URL must not carry a user name or a password."],
    ["file:///etc/passwd", "The URL must begin with https:// and name a host."],
    ["#", "The URL must begin with https:// and name a host."],
    ["https://printer.local/", "Names that end in .local are not public."],
  ])("%s has the guard's message", async (url, content) => {
    using internet = pretendInternet();
    const result = await openPage(guard([], { dial: internet.dial })).run(createUse({ url }));
    expect(result).toEqual({ outcome: "error", content, external: false });
    expect(internet.dialled).toEqual([]);
  });

  test.each([
    ["camels.example.com"],
    // The guard's sentence shortens it.
    [`${"camels-and-dates.".repeat(5)}example.com`],
  ])("%s, a name that resolves to an internal address", async (host) => {
    using internet = pretendInternet();
    const use = createUse({ url: `https://${host}/` });
    const result = await openPage(guard([], { dial: internet.dial })).run(use);
    expect(result).toMatchObject({ outcome: "error", external: false });
    expect(result.content).toContain("is not public");
    expect([result.content.includes("127.0.0.1"), internet.dialled]).toEqual([false, []]);
  });

  test("a server that does not answer in time is late, and so is a cancelled request", async () => {
    const allow = [`127.0.0.1:${server.port}`];
    const clock = createManualClock();
    const late = openPage(guard(allow, { clock }));
    const result = late.run(createUse({ url: `${base}/silent` }));
    await clock.advance(60_000);
    expect(await result).toMatchObject({
      ...{ outcome: "timeout", external: false },
      content: `127.0.0.1:${server.port} did not answer in time.`,
    });
    const gone = await read("/silent", { signal: AbortSignal.abort() });
    expect(gone).toMatchObject({ outcome: "timeout", external: false });
  });
});

test("requests to the guard are bounded", async () => {
  const requests: GuardedRequest[] = [];
  const inner = guard([]);
  const tool = openPage({
    validate: (text) => inner.validate(text),
    async request(ask) {
      requests.push(ask);
      return { ok: false, code: "dns", message: "No.", sent: false, status: null };
    },
  });
  const use = createUse({ url: "HTTPS://Camels.Example.com/A b".replace(" ", "%20") });
  await tool.run(use);
  expect(requests).toMatchObject([
    {
      ...{ url: "https://camels.example.com/A%20b", method: "GET", redirects: 3 },
      ...{ timeoutMs: 20_000, responseBytesMax: 2 * 1024 * 1024 },
    },
  ]);
  expect(requests[0]!.signal).toBe(use.signal);
  expect(tool.timeout_ms).toBeGreaterThan(requests[0]!.timeoutMs);
});

test("a page whose call was cancelled is not read", async () => {
  const leaving = new AbortController();
  const headers = new Headers({ "content-type": "text/html" });
  const body = new TextEncoder().encode("<p>They walk.");
  const url = "https://camels.example.com/";
  const tool = openPage({
    validate: () => ({ ok: true, url: new URL(url) }),
    async request() {
      leaving.abort();
      return { ok: true, url, status: 200, headers, body, truncated: false };
    },
  });
  expect(await tool.run(createUse({ url }, { signal: leaving.signal }))).toEqual({
    ...{ outcome: "timeout", content: "The page was not read in time." },
    ...{ external: false, http_status: 200 },
  });
});

describe("once external content was read", () => {
  const known = new KnownAddresses();
  const marked = { hasExternal: true, isKnownAddress: (url: string) => known.has(url) };
  beforeAll(() => known.add(`See ${base}/page and ${base}/list?of=1.`));

  test.each([
    "/other",
    "/pag",
    "/page/",
    "/page?",
    "/page?leak=1",
    "/page/leak",
    "/pa%67e",
    "/list?of=1&leak=1",
    "/",
  ])("%s never appeared, and no request is sent", async (path) => {
    seen.length = 0;
    const result = await read(path, marked);
    expect(result).toMatchObject({ outcome: "error", external: false });
    expect(result.content).toStartWith("The address was not opened.");
    expect(seen).toEqual([]);
  });

  test.each(["/page", "/page#leak", "/x/../page", "/list?of=1"])(
    "%s appeared before, apart from parts that are never sent",
    async (path) => {
      seen.length = 0;
      await read(path, marked);
      expect(seen.map((one) => one.path)).toEqual([
        path.startsWith("/list") ? "/list?of=1" : "/page",
      ]);
    },
  );

  test("before external content every address is accepted", async () => {
    const before = { hasExternal: false, isKnownAddress: async () => false };
    expect(await read("/page", before)).toMatchObject({ outcome: "ok" });
  });
});

test("menus are left out unless the whole page is requested", async () => {
  const body = "<nav>Menu</nav><p>Text";
  const head = `HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: ${body.length}\r\n\r\n`;
  using internet = pretendInternet(() => head + body);
  const { dial } = internet;
  const tool = openPage(guard([], { dial, resolve: async () => ["93.184.215.14"] }));
  const url = "https://camels.example.com/";
  const { content } = await tool.run(createUse({ url }));
  expect(content).toBe(
    "Text\n\n[Menus and margins of the page are left out; whole_page shows them.]",
  );
  const whole = await tool.run(createUse({ url, whole_page: true }));
  expect(whole.content).toBe("Menu\n\nText");
});

test.each([
  ["{}", false],
  ['{"url":""}', false],
  ['{"url":"https://x.example.com"}', true],
  ['{"url":"https://x.example.com","whole_page":true}', true],
  ['{"url":"https://x.example.com","whole_page":"yes"}', false],
  [`{"url":"https://x.example.com/${"x".repeat(2_048)}"}`, false],
  ['{"url":"https://x.example.com","method":"POST"}', false],
])("arguments %.60s: %p", (text, isValid) => {
  expect(checkArguments(openPage(guard([])).parameters, text).ok).toBe(isValid);
});
