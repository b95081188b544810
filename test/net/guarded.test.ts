// Tests the guarded egress against names and addresses that are internal.
import { expect, test } from "bun:test";
import { readAllowEntry } from "../../src/net/allow-list.ts";
import { GuardedEgress } from "../../src/net/index.ts";
import { createManualClock } from "../support/clock.ts";
import { ask, guard, pretendInternet } from "./guard.ts";
import { hostileAddresses } from "./hostile-addresses.ts";
import { refusedUrls } from "./hostile-urls.ts";
import { listenRaw, plainReply } from "./raw-server.ts";

test("a public name is dialled at its checked address, with its name for the certificate", async () => {
  using internet = pretendInternet();
  const resolve = async () => ["93.184.216.34"];
  const egress = guard([], { resolve, dial: internet.dial });
  const url = "https://hooks.example.com/in?a=1";
  const outcome = await egress.request({ ...ask, url, headers: { "X-A": " 1 " } });
  expect(outcome).toMatchObject({ ok: true, url, status: 200 });
  expect(internet.dialled).toEqual(["https://93.184.216.34:443 as hooks.example.com"]);
  expect(internet.requests).toEqual([
    "POST /in?a=1 HTTP/1.1\r\nhost: hooks.example.com\r\naccept: */*\r\nuser-agent: wadi\r\n" +
      "x-a: 1\r\naccept-encoding: identity\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}",
  ]);
});

test("headers that control the connection are the guard's own, in any spelling", async () => {
  using internet = pretendInternet();
  const egress = guard([], { resolve: async () => ["8.8.8.8"], dial: internet.dial });
  const names = ["Host", "Accept-Encoding", "CONNECTION", "Content-Length", "transfer-encoding"];
  const more = ["Upgrade", "TE", "Trailer", "Expect", "Keep-Alive", "Proxy-Authorization"];
  const headers = Object.fromEntries([...names, ...more].map((name) => [name, "evil"]));
  const url = "https://hooks.example.com/";
  expect(await egress.request({ ...ask, url, headers })).toMatchObject({ ok: true });
  expect(internet.requests[0]).not.toContain("evil");
});

test("a header with a line break is a bug, and is not quoted", async () => {
  using internet = pretendInternet();
  const egress = guard([], { resolve: async () => ["8.8.8.8"], dial: internet.dial });
  const url = "https://hooks.example.com/";
  for (const value of ["sec\r\nret: x", "sec\nret", "sec\u0000ret", "sec€ret"]) {
    const failure = egress.request({ ...ask, url, headers: { Authorization: value } });
    await expect(failure).rejects.toThrow(new TypeError("the header authorization is invalid"));
  }
  expect(internet.requests).toEqual([]);
});

test("none of the hostile URLs is resolved or dialled", async () => {
  using internet = pretendInternet();
  const asked: string[] = [];
  const resolve = async (name: string) => {
    asked.push(name);
    return ["93.184.216.34"];
  };
  const egress = guard([], { resolve, dial: internet.dial });
  for (const [url, say] of refusedUrls) {
    const outcome = await egress.request({ ...ask, url });
    expect(outcome).toEqual({
      ok: false,
      code: "forbidden",
      message: say,
      sent: false,
      status: null,
    });
  }
  expect([refusedUrls.length > 100, asked, internet.dialled]).toEqual([true, [], []]);
});

test("no name resolves to a hostile address, alone or among public ones", async () => {
  using internet = pretendInternet();
  let answers: readonly string[] = [];
  const egress = guard([], { resolve: async () => answers, dial: internet.dial });
  for (const address of hostileAddresses) {
    for (answers of [[address], ["93.184.216.34", address], [address, "2606:4700::1111"]]) {
      const outcome = await egress.request({ ...ask, url: "https://hooks.example.com/" });
      expect([address, outcome]).toMatchObject([address, { ok: false, code: "forbidden" }]);
    }
  }
  expect([hostileAddresses.length > 60, internet.dialled]).toEqual([true, []]);
});

test("a name is refused for one private address, even after four public ones", async () => {
  using internet = pretendInternet();
  const answers = ["93.184.216.34", "93.184.216.35", "93.184.216.36", "93.184.216.37", "10.0.0.1"];
  const egress = guard([], { resolve: async () => answers, dial: internet.dial });
  const outcome = await egress.request({ ...ask, url: "https://hooks.example.com/" });
  expect([outcome, internet.dialled]).toMatchObject([{ ok: false, code: "forbidden" }, []]);
});

test("a name that changes to loopback between two attempts is refused at the second", async () => {
  using internet = pretendInternet();
  const answers = [["93.184.216.34"], ["127.0.0.1"]];
  const asked: string[] = [];
  const resolve = async (name: string) => {
    asked.push(name);
    return answers.shift()!;
  };
  const egress = guard(["127.0.0.1:*"], { resolve, dial: internet.dial });
  const url = "https://turncoat.example.com/";
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: true });
  expect(await egress.request({ ...ask, url })).toEqual({
    ok: false,
    code: "forbidden",
    message: "turncoat.example.com resolves to an address that is not public (Loopback).",
    sent: false,
    status: null,
  });
  expect(asked).toEqual(["turncoat.example.com", "turncoat.example.com"]);
  expect(internet.dialled).toEqual(["https://93.184.216.34:443 as turncoat.example.com"]);
});

test("the connection uses the checked address, without a second lookup", async () => {
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
  expect(server.pieces[0]).toContain(`host: no-such-name.acme.internal:${server.port}\r\n`);
});

test("the next address is tried if no connection could be made, up to four", async () => {
  using some = pretendInternet(undefined, (address) => address !== "8.8.8.8");
  const two = guard([], {
    resolve: async () => ["2606:4700::1111", "2606:4700::1111", "8.8.8.8"],
    dial: some.dial,
  });
  expect(await two.request({ ...ask, url: "https://a.example.com/" })).toMatchObject({ ok: true });
  expect(some.dialled).toEqual([
    "https://2606:4700::1111:443 as a.example.com",
    "https://8.8.8.8:443 as a.example.com",
  ]);

  using none = pretendInternet(undefined, () => true);
  const six = ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4", "1.1.1.5", "1.1.1.6"];
  const dead = guard([], { resolve: async () => six, dial: none.dial });
  expect(await dead.request({ ...ask, url: "https://a.example.com/" })).toEqual({
    ok: false,
    code: "refused",
    message: "No connection to a.example.com could be made.",
    sent: false,
    status: null,
  });
  expect(none.dialled.length).toBe(4);
});

test("a request that may have arrived is not sent to the next address", async () => {
  using internet = pretendInternet(() => "no HTTP\r\n\r\n");
  const resolve = async () => ["1.1.1.1", "1.1.1.2"];
  const egress = guard([], { resolve, dial: internet.dial });
  const outcome = await egress.request({ ...ask, url: "https://a.example.com/" });
  expect(outcome).toMatchObject({ ok: false, code: "other", sent: true });
  expect([internet.dialled.length, internet.requests.length]).toEqual([1, 1]);
});

test("an allowed address needs no name, and allows no other", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  using other = listenRaw((socket) => socket.say(plainReply));
  const resolve = async () => Promise.reject(new Error("was resolved"));
  const egress = guard([`127.0.0.1:${server.port}`], { resolve });
  expect(await egress.request({ ...ask, url: server.origin })).toMatchObject({ ok: true });
  expect(await egress.request({ ...ask, url: other.origin })).toMatchObject({ code: "forbidden" });
  expect(other.connections).toBe(0);
});

test("the allow list is read at every request, so a reload applies at once", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  let allow = [readAllowEntry("127.0.0.1:*")];
  const egress = guard([], { allow: () => allow });
  const url = server.origin;
  expect(egress.validate(url)).toMatchObject({ ok: true });
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: true });
  allow = [];
  expect(egress.validate(url)).toMatchObject({ ok: false });
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: false, code: "forbidden" });
  expect(server.pieces.length).toBe(1);
});

test("the system's lookup resolves localhost", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const entry = readAllowEntry(`localhost:${server.port}`);
  const egress = new GuardedEgress({ clock: createManualClock(), allow: () => [entry] });
  const url = `http://localhost:${server.port}/`;
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: true, status: 200 });
});

test("a look-up that lasts is ended by the time of its request, and by five seconds", async () => {
  const clock = createManualClock();
  const egress = guard([], { clock, resolve: () => new Promise(() => {}) });
  const url = "https://a.example.com/";
  const code = async (timeoutMs: number) => {
    const asked = egress.request({ ...ask, url, timeoutMs });
    await clock.advance(Math.min(timeoutMs, 5_000));
    const outcome = await asked;
    expect(clock.pending()).toBe(0);
    return outcome;
  };
  expect(await code(4_999)).toMatchObject({ ok: false, code: "timeout", sent: false });
  expect(await code(15_000)).toMatchObject({ ok: false, code: "dns", sent: false });
});

test("a name without an address, or with a failed lookup, is a DNS failure", async () => {
  const url = "https://a.example.com/";
  const failure = { ok: false, code: "dns", sent: false, status: null };
  const empty = guard([], { resolve: async () => [] });
  expect(await empty.request({ ...ask, url })).toMatchObject(failure);
  const broken = guard([], { resolve: async () => Promise.reject(new Error("SERVFAIL")) });
  expect(await broken.request({ ...ask, url })).toMatchObject(failure);
});
