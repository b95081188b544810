// Holds the strangers' way out against names, addresses and redirects that lead inside.
import { expect, test } from "bun:test";
import { readAllowEntry } from "../../../src/platform/allow-entry.ts";
import { createGuardedEgress } from "../../../src/platform/egress/index.ts";
import { ask, get, guard, pretendInternet } from "./guard.ts";
import { listenRaw, plainReply } from "./raw-server.ts";

const refusal = () => {
  throw Object.assign(new TypeError("refused"), { code: "ECONNREFUSED" });
};

test("a public name is dialled by its checked address, with name and certificate kept", async () => {
  const internet = pretendInternet();
  const resolve = async () => ["93.184.216.34"];
  const egress = guard([], { resolve, fetch: internet.fetch });
  const headers = { host: "evil", "Accept-Encoding": "gzip", connection: "upgrade", "x-a": "1" };
  const url = "https://hooks.example.com/in?a=1";
  expect(await egress.request({ ...ask, headers, url })).toMatchObject({ ok: true, url });
  expect(internet.dialled()).toEqual(["https://93.184.216.34/in?a=1"]);
  const { init } = internet.calls[0]!;
  expect(init).toMatchObject({
    ...{ method: "POST", body: "{}", redirect: "manual", decompress: false, proxy: false },
    tls: { serverName: "hooks.example.com", rejectUnauthorized: true },
  });
  expect(Object.fromEntries(new Headers(init.headers))).toEqual({
    "accept-encoding": "identity",
    host: "hooks.example.com",
    "x-a": "1",
  });
});

test("a name that turns to loopback between two attempts is refused at the second", async () => {
  const internet = pretendInternet();
  const answers = [["93.184.216.34"], ["127.0.0.1"]];
  const asked: string[] = [];
  const resolve = async (name: string) => {
    asked.push(name);
    return answers.shift()!;
  };
  const egress = guard(["127.0.0.1:*"], { resolve, fetch: internet.fetch });
  const url = "https://turncoat.example.com/";
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: true });
  expect(await egress.request({ ...ask, url })).toEqual({
    ok: false,
    code: "forbidden",
    say: "turncoat.example.com resolves to an address that is not public (Loopback).",
    sent: false,
    status: null,
  });
  expect(asked).toEqual(["turncoat.example.com", "turncoat.example.com"]);
  expect(internet.dialled()).toEqual(["https://93.184.216.34/"]);
});

test("the connection goes to the address that was checked, once, and not to a second answer", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  let looks = 0;
  const resolve = async () => {
    looks += 1;
    return looks === 1 ? ["127.0.0.1"] : ["192.0.2.1"];
  };
  const egress = guard([`no-such-name.acme.internal:${server.port}`], { resolve });
  const url = `http://no-such-name.acme.internal:${server.port}/in`;
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: true, status: 200 });
  expect(looks).toBe(1);
  expect(server.pieces[0]).toStartWith("POST /in HTTP/1.1\r\n");
  expect(server.pieces[0]).toContain(`Host: no-such-name.acme.internal:${server.port}\r\n`);
});

test.each([
  [["93.184.216.34", "10.0.0.1"], "Private-Use"],
  [["93.184.216.34", "2606:4700::1111", "fe80::1"], "outside 2000::/3"],
  [["::ffff:93.184.216.34"], "outside 2000::/3"],
  [["169.254.169.254"], "Link Local"],
  [["fe80::1%eth0"], "not an address"],
])("a name with the addresses %p is refused: %p", async (addresses, block) => {
  const internet = pretendInternet();
  const egress = guard([], { resolve: async () => addresses, fetch: internet.fetch });
  const outcome = await egress.request({ ...ask, url: "https://hooks.example.com/" });
  const say = `hooks.example.com resolves to an address that is not public (${block}).`;
  expect(outcome).toMatchObject({ ok: false, code: "forbidden", say });
  expect(internet.calls).toEqual([]);
});

test("a URL whose text is refused is never resolved", async () => {
  const egress = guard([], { resolve: async () => Promise.reject(new Error("was resolved")) });
  const say = "The URL must begin with https://.";
  expect(egress.judge("http://a.example.com/")).toEqual({ ok: false, why: say });
  const outcome = await egress.request({ ...ask, url: "http://a.example.com/" });
  expect(outcome).toMatchObject({ ok: false, code: "forbidden", say });
});

test("the next address is tried where no connection could be made, four at most", async () => {
  const some = pretendInternet((url) => (url.includes("8.8.8.8") ? new Response("ok") : refusal()));
  const two = guard([], { resolve: async () => ["2606:4700::1111", "8.8.8.8"], fetch: some.fetch });
  expect(await two.request({ ...ask, url: "https://a.example.com/" })).toMatchObject({ ok: true });
  expect(some.dialled()).toEqual(["https://[2606:4700::1111]/", "https://8.8.8.8/"]);

  const none = pretendInternet(refusal);
  const six = ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4", "1.1.1.5", "1.1.1.6"];
  const dead = guard([], { resolve: async () => six, fetch: none.fetch });
  expect(await dead.request({ ...ask, url: "https://a.example.com/" })).toEqual({
    ok: false,
    code: "refused",
    say: "No connection to a.example.com could be made.",
    sent: false,
    status: null,
  });
  expect(none.calls.length).toBe(4);
});

test("an address on the operator's list needs no name, and names nothing but itself", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  using other = listenRaw((socket) => socket.say(plainReply));
  const resolve = async () => Promise.reject(new Error("was resolved"));
  const egress = guard([`127.0.0.1:${server.port}`], { resolve });
  expect(await egress.request({ ...ask, url: server.origin })).toMatchObject({ ok: true });
  expect(await egress.request({ ...ask, url: other.origin })).toMatchObject({ code: "forbidden" });
  expect(other.connections).toBe(0);
});

test("the operator's list is asked at every request, so that a reload counts at once", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  let allow = [readAllowEntry("127.0.0.1:*")];
  const egress = guard([], { allow: () => allow });
  const url = server.origin;
  expect(egress.judge(url)).toMatchObject({ ok: true });
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: true });
  allow = [];
  expect(egress.judge(url)).toMatchObject({ ok: false });
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: false, code: "forbidden" });
  expect(server.pieces.length).toBe(1);
});

test("the system's own look-up finds localhost", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const entry = readAllowEntry(`localhost:${server.port}`);
  const egress = createGuardedEgress({ allow: () => [entry] });
  const url = `http://localhost:${server.port}/`;
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: true, status: 200 });
});

test("a redirect to loopback is refused and nobody is called there", async () => {
  using inner = listenRaw((socket) => socket.say(plainReply));
  using outer = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    fetch: () => Response.redirect(`${inner.origin}/secret`),
  });
  const egress = guard([`127.0.0.1:${outer.port}`]);
  const outcome = await egress.request({ ...get, url: outer.url.href, redirects: 3 });
  const say = "It redirects elsewhere. The URL must begin with https://.";
  expect(outcome).toMatchObject({ ok: false, code: "forbidden", say });
  expect(inner.connections).toBe(0);
});

test("a redirect to a name that leads inside is refused", async () => {
  const internet = pretendInternet(() => Response.redirect("https://inside.example.com/"));
  const resolve = async (name: string) => [name.startsWith("in") ? "10.0.0.1" : "93.184.216.34"];
  const egress = guard([], { resolve, fetch: internet.fetch });
  const url = "https://out.example.com/";
  const outcome = await egress.request({ ...get, url, redirects: 1 });
  const say = "inside.example.com resolves to an address that is not public (Private-Use).";
  expect(outcome).toMatchObject({ ok: false, code: "forbidden", say });
  expect(internet.dialled()).toEqual(["https://93.184.216.34/"]);
});

test("a redirect that is followed takes no secret and no fragment along", async () => {
  using server = listenRaw((socket) => {
    const isFirst = server.pieces.length === 1;
    if (!isFirst) return socket.say(plainReply);
    socket.say("HTTP/1.1 302 Found\r\nlocation: ../next?b#part\r\ncontent-length: 0\r\n\r\n");
  });
  const egress = guard([`127.0.0.1:${server.port}`]);
  const headers = { authorization: "Bearer x", cookie: "c", "x-key": "k", accept: "text/html" };
  const url = `${server.origin}/a/b`;
  const outcome = await egress.request({ ...get, headers, url, redirects: 3 });
  expect(outcome).toMatchObject({ ok: true, status: 200, url: `${server.origin}/next?b` });
  const [first, second] = server.pieces as [string, string];
  expect(first).toMatch(/authorization: Bearer x/i);
  expect(second).toStartWith("GET /next?b HTTP/1.1\r\n");
  expect(second).toMatch(/accept: text\/html/i);
  expect(second).not.toMatch(/authorization|cookie|x-key/i);
});

test("a redirect beyond the number allowed is the reply", async () => {
  using server = listenRaw((socket) =>
    socket.say("HTTP/1.1 307 Again\r\nlocation: /\r\ncontent-length: 0\r\n\r\n"),
  );
  const egress = guard([`127.0.0.1:${server.port}`]);
  const url = server.origin;
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: true, status: 307 });
  expect(server.pieces.length).toBe(1);
  const outcome = await egress.request({ ...get, url, redirects: 3 });
  expect(outcome).toMatchObject({ ok: true, status: 307 });
  expect(server.pieces.length).toBe(5);
});

test("a POST that would follow redirects is a mistake of ours", async () => {
  const mistake = guard([]).request({ ...ask, url: "https://a.example.com/", redirects: 1 });
  await expect(mistake).rejects.toThrow("Only a GET follows redirects.");
});

test("a name without an address, or one whose look-up fails, is a failure of DNS", async () => {
  const url = "https://a.example.com/";
  const failure = { ok: false, code: "dns", sent: false, status: null };
  const empty = guard([], { resolve: async () => [] });
  expect(await empty.request({ ...ask, url })).toMatchObject(failure);
  const broken = guard([], { resolve: async () => Promise.reject(new Error("SERVFAIL")) });
  expect(await broken.request({ ...ask, url })).toMatchObject(failure);
});
