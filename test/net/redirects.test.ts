// Tests redirects of the guarded egress: their number, their targets, and dropped secrets.
import { expect, test } from "bun:test";
import { ask, get, guard, pretendInternet } from "./guard.ts";
import { hostileAddresses } from "./hostile-addresses.ts";
import { listenRaw, plainReply } from "./raw-server.ts";

const to = (location: string, status = 302) =>
  `HTTP/1.1 ${status} Elsewhere\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`;

const url = "https://out.example.com/a/b";
/** Every host but this one has an internal address. */
const resolve = async (name: string) => [name === "out.example.com" ? "93.184.216.34" : "10.0.0.1"];

test.each([
  ["http://out.example.com/", "The URL must begin with https://."],
  ["http://127.0.0.1/", "The URL must begin with https://."],
  ["//127.0.0.1/", "The URL must name its host by a DNS name, not by an IP address."],
  ["https://[::ffff:7f00:1]/", "The URL must name its host by a DNS name, not by an IP address."],
  ["https://localhost./", "The host is not a well-formed DNS name."],
  ["https://metadata.google.internal/", "Names that end in .internal are not public."],
  ["https://out.example.com:8443/", "The URL must use port 443."],
  ["https://user@out.example.com/", "The URL must not carry a user name or a password."],
  ["/\\127.0.0.1/", "The URL must name its host by a DNS name, not by an IP address."],
  ["file:///etc/passwd", "The URL must begin with https:// and name a host."],
  ["https://", "The URL must begin with https:// and name a host."],
])("a redirect to %p is refused, and its target gets no connection", async (location, why) => {
  using internet = pretendInternet(() => to(location));
  const egress = guard([], { resolve, dial: internet.dial });
  const outcome = await egress.request({ ...get, url, redirects: 3 });
  const say = `It redirects elsewhere. ${why}`;
  expect(outcome).toMatchObject({ ok: false, code: "forbidden", message: say });
  expect(internet.dialled).toEqual(["https://93.184.216.34:443 as out.example.com"]);
});

test("a redirect to a name with an internal address is refused, for every hostile address", async () => {
  for (const address of hostileAddresses) {
    using internet = pretendInternet(() => to("https://inside.example.com/"));
    const look = async (name: string) => [name.startsWith("in") ? address : "93.184.216.34"];
    const egress = guard([], { resolve: look, dial: internet.dial });
    const outcome = await egress.request({ ...get, url, redirects: 1 });
    expect([address, outcome]).toMatchObject([address, { ok: false, code: "forbidden" }]);
    expect(internet.dialled.length).toBe(1);
  }
});

test("a name that becomes internal between a request and its own redirect is refused", async () => {
  using internet = pretendInternet(() => to("/next"));
  const answers = [["93.184.216.34"], ["93.184.216.34"], ["169.254.169.254"]];
  const egress = guard([], { resolve: async () => answers.shift()!, dial: internet.dial });
  const outcome = await egress.request({ ...get, url, redirects: 3 });
  const say = "out.example.com resolves to an address that is not public (Link Local).";
  expect(outcome).toMatchObject({ ok: false, code: "forbidden", message: say });
  expect(internet.dialled.length).toBe(2);
});

test("a redirect may lead to another place that is allowed", async () => {
  using inner = listenRaw((socket) => socket.say(plainReply));
  using outer = listenRaw((socket) => socket.say(to(`${inner.origin}/next`)));
  const egress = guard([`127.0.0.1:${outer.port}`, `127.0.0.1:${inner.port}`]);
  const outcome = await egress.request({ ...get, url: outer.origin, redirects: 1 });
  expect(outcome).toMatchObject({ ok: true, status: 200, url: `${inner.origin}/next` });
});

test("a redirect to loopback is refused, even with another port open", async () => {
  using inner = listenRaw((socket) => socket.say(plainReply));
  using outer = listenRaw((socket) => socket.say(to(`${inner.origin}/secret`)));
  const egress = guard([`127.0.0.1:${outer.port}`]);
  const outcome = await egress.request({ ...get, url: outer.origin, redirects: 3 });
  expect(outcome).toMatchObject({ ok: false, code: "forbidden" });
  expect(inner.connections).toBe(0);
});

test.each([301, 302, 303, 307, 308])(
  "a %p that is followed drops secrets and the fragment",
  async (status) => {
    using internet = pretendInternet((request) =>
      request.startsWith("GET /a/b ") ? to("../next?b#part", status) : plainReply,
    );
    const egress = guard([], { resolve, dial: internet.dial });
    const secrets = { authorization: "Bearer x", cookie: "c", "X-Key": "k" };
    const headers = { ...secrets, Accept: "text/html", "Accept-Language": "ar" };
    const outcome = await egress.request({ ...get, headers, url, redirects: 3 });
    const next = "https://out.example.com/next?b";
    expect(outcome).toMatchObject({ ok: true, status: 200, url: next });
    const [first, second] = internet.requests as [string, string];
    expect(first).toContain("authorization: Bearer x\r\n");
    expect(second).toBe(
      "GET /next?b HTTP/1.1\r\nhost: out.example.com\r\naccept: text/html\r\n" +
        "user-agent: wadi\r\naccept-language: ar\r\naccept-encoding: identity\r\n" +
        "connection: close\r\n\r\n",
    );
  },
);

test("at most three are followed, and the next one is the reply", async () => {
  using internet = pretendInternet(() => to("/again", 307));
  const egress = guard([], { resolve, dial: internet.dial });
  for (const [redirects, sent] of [
    [0, 1],
    [1, 2],
    [3, 4],
  ] as const) {
    const outcome = await egress.request({ ...get, url, redirects });
    expect(outcome).toMatchObject({ ok: true, status: 307 });
    expect(internet.requests.splice(0).length).toBe(sent);
  }
});

test("a POST is not redirected: the redirect is the reply", async () => {
  using internet = pretendInternet(() => to("https://elsewhere.example.com/"));
  const egress = guard([], { resolve, dial: internet.dial });
  const outcome = await egress.request({ ...ask, url });
  expect(outcome).toMatchObject({ ok: true, status: 302, url });
  if (!outcome.ok) throw new Error(outcome.message);
  const { headers } = outcome;
  expect(headers.get("Location")).toBe("https://elsewhere.example.com/");
  expect([headers.has("LOCATION"), headers.has("x-a"), headers.get("x-a")]).toEqual([
    true,
    false,
    null,
  ]);
  expect(internet.requests.length).toBe(1);
  const mistake = egress.request({ ...ask, url, redirects: 1 });
  await expect(mistake).rejects.toThrow("Only a GET follows redirects.");
});

test("a redirect without a location is the reply", async () => {
  using internet = pretendInternet(() => "HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n");
  const egress = guard([], { resolve, dial: internet.dial });
  const outcome = await egress.request({ ...get, url, redirects: 3 });
  expect(outcome).toMatchObject({ ok: true, status: 302 });
});
