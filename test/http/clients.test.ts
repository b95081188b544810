// Tests the client address of a request: its peer, or a trusted part of X-Forwarded-For. Then, which
// requests came through a proxy, and which are under way.
import { describe, expect, test } from "bun:test";
import { createNameClient, isForwarded, OpenRequests } from "../../src/http/clients.ts";

describe("without trusted proxies", () => {
  const name = createNameClient([]);

  test("the peer is the client, whatever its headers name", () => {
    expect(name("192.0.2.1", null)).toBe("192.0.2.1");
    expect(name("192.0.2.1", "198.51.100.7")).toBe("192.0.2.1");
    expect(name("127.0.0.1", "198.51.100.7")).toBe("127.0.0.1");
  });

  test("IPv4 within IPv6 is that IPv4 address", () => {
    for (const peer of ["::ffff:192.0.2.1", "::FFFF:c000:201", "0:0:0:0:0:ffff:192.0.2.1"]) {
      expect(name(peer, null)).toBe("192.0.2.1");
    }
  });

  test("IPv6 clients are counted by /64, in any spelling", () => {
    const first = name("2001:db8:1:2::1", null);
    for (const peer of ["2001:db8:1:2:ffff::", "2001:0DB8:0001:0002::1", "2001:db8:1:2::192.0.2.1"])
      expect(name(peer, null)).toBe(first);
    for (const peer of ["2001:db8:1:3::1", "2001:db8:1::1", "::1", "192.0.2.1"]) {
      expect(name(peer, null)).not.toBe(first);
    }
  });

  test("an invalid or missing peer address is a name too", () => {
    expect(name("fe80::1%eth0", null)).toBe("fe80::1%eth0");
    expect(name(null, null)).toBe(name(null, "198.51.100.7"));
    expect(name(null, null)).not.toBe("");
  });
});

describe("with trusted proxies", () => {
  const name = createNameClient(["10.0.0.0/8", "192.0.2.1", "fd00::/8"]);
  const PEER = "10.1.2.3";

  test("only the header of a trusted proxy is used", () => {
    expect(name("198.51.100.7", "203.0.113.9")).toBe("198.51.100.7");
    expect(name("192.0.2.2", "203.0.113.9")).toBe("192.0.2.2");
    for (const peer of [PEER, "192.0.2.1", "::ffff:10.0.0.1", "fd12::1"]) {
      expect(name(peer, "203.0.113.9")).toBe("203.0.113.9");
    }
  });

  test("a trusted proxy without a forwarded address is the client itself", () => {
    expect(name(PEER, null)).toBe(PEER);
    expect(name(PEER, "")).toBe(PEER);
  });

  test("the last address that is no proxy counts: earlier ones may be forged", () => {
    for (const [forwarded, client] of [
      ["203.0.113.9", "203.0.113.9"],
      ["1.1.1.1, 203.0.113.9", "203.0.113.9"],
      ["1.1.1.1,203.0.113.9,10.0.0.7", "203.0.113.9"],
      ["1.1.1.1 ,\t203.0.113.9, 192.0.2.1 , fd00::2", "203.0.113.9"],
      ["anything at all, 203.0.113.9", "203.0.113.9"],
      [",,,203.0.113.9", "203.0.113.9"],
      ["::ffff:203.0.113.9", "203.0.113.9"],
      // All are proxies: the farthest one is the client.
      ["10.0.0.9, 10.0.0.8", "10.0.0.9"],
    ] as const) {
      expect([forwarded, name(PEER, forwarded)]).toEqual([forwarded, client]);
    }
  });

  test("an IPv6 client is counted by /64, too", () => {
    expect(name(PEER, "2001:db8::1")).toBe(name("2001:db8::2", null));
  });

  test("a port after an address is dropped", () => {
    expect(name(PEER, "203.0.113.9:4711")).toBe("203.0.113.9");
    const bare = name(PEER, "2001:db8::1");
    expect([name(PEER, "[2001:db8::1]:443"), name(PEER, "[2001:db8::1]")]).toEqual([bare, bare]);
  });

  test("a malformed address list is ignored", () => {
    for (const forwarded of [
      "unknown",
      "203.0.113.9, unknown",
      "203.0.113.9, unknown, 10.0.0.7",
      "203.0.113.9,",
      ",",
      ", 10.0.0.7",
      ",10.0.0.7",
      "203.0.113.999",
      "203.0.113",
      "203.0.113.9:",
      "203.0.113.9/32",
      "for=203.0.113.9",
      "[203.0.113.9",
      "fe80::1%eth0",
      "1".repeat(16_000),
    ]) {
      expect([forwarded, name(PEER, forwarded)]).toEqual([forwarded, PEER]);
    }
  });

  test("a list of thousands is read from its end", () => {
    const many = "10.0.0.7,".repeat(2_000);
    expect(name(PEER, `${many}203.0.113.9`)).toBe("203.0.113.9");
    expect(name(PEER, `203.0.113.9,${many}10.0.0.7`)).toBe("203.0.113.9");
  });
});

test("a request is a proxy's by any header that proxies write", () => {
  const names = ["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host"];
  for (const name of [...names, "x-forwarded-proto", "x-forwarded-port", "x-forwarded-server"]) {
    expect(isForwarded(new Headers({ [name]: "" })), name).toBeTrue();
  }
  expect(isForwarded(new Headers({ host: "a.example", forwarding: "no" }))).toBeFalse();
});

describe("requests under way", () => {
  const PEER = { address: "::ffff:192.0.2.1", port: 4_711, family: "IPv6" } as const;
  /** `looks` counts the questions whether a request is over. */
  function open(isOver: boolean) {
    const seen = { looks: 0 };
    const requests = new OpenRequests(
      (request) => request,
      () => {
        seen.looks += 1;
        return isOver ? null : PEER;
      },
    );
    const add = (count: number) => {
      for (let n = 0; n < count; n++) requests.add(new Request("http://localhost/"));
      return seen.looks;
    };
    return { requests, seen, add };
  }

  test("are listed by their connection until they are answered", () => {
    const { requests, add } = open(false);
    const request = new Request("http://localhost/");
    requests.add(request);
    const address = { bits: 32, value: 0xc000_0201n } as const;
    expect(requests.list()).toEqual([{ address, port: 4_711 }]);
    requests.delete(request);
    expect(requests.list()).toEqual([]);
    // Of many, each is looked at again only once they have doubled.
    expect([add(255), add(1), add(511), add(1)]).toEqual([1, 257, 257, 1_025]);
  });

  test("are forgotten once they are over, by every 256th at the latest", () => {
    const { requests, seen, add } = open(true);
    expect([add(255), add(1), add(256)]).toEqual([0, 256, 512]);
    seen.looks = 0;
    add(9);
    expect(requests.list()).toEqual([]);
    expect(seen.looks).toBe(9);
    expect([requests.list(), seen.looks]).toEqual([[], 9]);
  });
});
