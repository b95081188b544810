// Tests which requests a cookie may authenticate: by their Host, Origin and Sec-Fetch-Site.
import { describe, expect, test } from "bun:test";
import { requireOwnClient, requireOwnOrigin } from "../../src/http/own-origin.ts";

const OWN = {
  publicUrls: () => ["https://wadi.internal", ""],
  hosts: () => ["wadi-host", "0.0.0.0"],
};

function ask(
  method: string,
  headers: Record<string, string>,
  scheme = "http",
  require = requireOwnOrigin,
): string {
  const request = new Request(`${scheme}://localhost/console/session`, { method, headers });
  try {
    return require(request, OWN);
  } catch (failure) {
    return (failure as Error).message.split(" ")[0]!;
  }
}
const HOST_REFUSED = "This";
const ORIGIN_REFUSED = "Only";

describe("the Host", () => {
  const own = ["localhost", "localhost:8080", "wadi.localhost:1", "127.0.0.1:8080", "[::1]:8080"];
  for (const host of [...own, "wadi-host:9090", "10.0.0.1:9090", "[fd00::1]:9090"]) {
    test(`${host} is of this server`, () => {
      expect(ask("GET", { host })).toBe(`http://${host}`);
      expect(ask("GET", { host }, "https")).toBe(`https://${host}`);
    });
  }

  test("of a public address has its scheme behind a proxy", () => {
    for (const host of ["wadi.internal", "WADI.internal", "wadi.internal:443"]) {
      expect(ask("GET", { host })).toBe("https://wadi.internal");
    }
    expect(ask("GET", { host: "wadi.internal:80" })).toBe("http://wadi.internal");
    expect(ask("GET", { host: "wadi.internal:8443" })).toBe("http://wadi.internal:8443");
  });

  const odd = [
    "",
    "a b",
    "localhost, evil.example",
    "user@localhost",
    "localhost:x",
    "localhost:99999",
  ];
  const parts = ["host", "internal", "wadi"];
  const others = ["evil.example", "localhost.evil.example", "1.evil.example:80", ...parts];
  for (const host of [...others, ...odd]) {
    test(`"${host}" is foreign, for reads too`, () => {
      expect(ask("GET", { host })).toBe(HOST_REFUSED);
      const origin = `http://${host}`;
      expect(ask("POST", { host, origin })).toBe(HOST_REFUSED);
    });
  }
});

describe("the Origin of a write", () => {
  const host = "localhost:8080";
  for (const origin of ["http://localhost:8080", "https://wadi.internal"]) {
    test(`${origin} is this server's`, () => expect(ask("POST", { host, origin })).toBe(origin));
  }

  const others = ["http://localhost:3000", "https://localhost:8080", "http://127.0.0.1:8080"];
  for (const origin of [...others, "http://wadi.internal", "http://evil.example", "null", ""]) {
    test(`"${origin}" is foreign, for reads too`, () => {
      expect(ask("POST", { host, origin })).toBe(ORIGIN_REFUSED);
      expect(ask("DELETE", { host, origin })).toBe(ORIGIN_REFUSED);
      expect(ask("GET", { host, origin })).toBe(ORIGIN_REFUSED);
    });
  }

  test("may not be a page without encryption of the public address", () => {
    const origin = "http://wadi.internal";
    expect(ask("POST", { host: "wadi.internal", origin })).toBe(ORIGIN_REFUSED);
  });

  test("may be left out only with Sec-Fetch-Site: same-origin", () => {
    const of = (method: string, site: string) => ask(method, { host, "sec-fetch-site": site });
    expect(of("POST", "same-origin")).toBe("http://localhost:8080");
    for (const site of ["same-site", "cross-site", "none"]) {
      expect(of("POST", site)).toBe(ORIGIN_REFUSED);
    }
    expect(ask("POST", { host })).toBe(ORIGIN_REFUSED);
    expect([ask("GET", { host }), of("GET", "none")]).not.toContain(ORIGIN_REFUSED);
    expect([of("GET", "same-site"), of("GET", "cross-site")]).toEqual(["Only", "Only"]);
  });
});

describe("a client with a key", () => {
  const CORS = "https://app.example";
  const client = (headers: Record<string, string>) =>
    ask("POST", headers, "http", (request, own) => requireOwnClient(request, own, [CORS]));

  test("is told the own origin that it asks, from a program or a page that may", () => {
    const host = "localhost:8080";
    for (const origin of [`http://${host}`, "https://wadi.internal", CORS]) {
      expect(client({ host, origin })).toBe(`http://${host}`);
    }
    expect(client({ host })).toBe(`http://${host}`);
    expect(client({ host: "wadi.internal" })).toBe("https://wadi.internal");
    expect(client({ host: "wadi.internal:8443" })).toBe("http://wadi.internal:8443");
  });

  test("is refused under a foreign Host, and for a page of a foreign Origin", () => {
    const host = "localhost:8080";
    expect(client({ host: "evil.example", origin: CORS })).toBe(HOST_REFUSED);
    const others = ["http://localhost:3000", "http://wadi.internal", "https://wadi", "null", ""];
    for (const origin of others) expect(client({ host, origin }), origin).toBe("Pages");
  });
});
