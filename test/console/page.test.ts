// Tests the page of the console as bytes: its policy, its encodings, and what it never loads.
import { describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";

/** What a person's first request loads, and all files, as zlib compresses them at its level 9. */
const FIRST_BYTES = 66_000;
const ALL_BYTES = 112_000;
const weigh = (text: string) => Bun.gzipSync(text, { level: 9 }).length;

async function openPage(settings = "") {
  const app = await startApp({ settings });
  const get = (path: string, headers: Record<string, string> = {}) =>
    app.ask("GET", path, { key: null, headers });
  return { get, stop: app.stop };
}

const hash = (text: string) =>
  `'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`;

describe("the page of the console", () => {
  test("may run its own script and style only, and be framed by nobody", async () => {
    const { get, stop } = await openPage();
    const reply = await get("/console/");
    const html = await reply.text();
    const policy = reply.headers.get("content-security-policy")!.split("; ");
    const script = /<script>(.*?)<\/script>/s.exec(html)![1]!;
    const style = /<style>(.*?)<\/style>/s.exec(html)![1]!;
    const others = await Promise.all(["later", "arabic"].map((name) => get(`/console/${name}.js`)));
    for (const { headers } of others) {
      expect(headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    }
    const hashes = (await Promise.all(others.map((other) => other.text()))).map(hash);
    expect(policy).toContain(`script-src ${hash(script)} ${hashes.join(" ")}`);
    for (const one of hashes) expect(script).toContain(one.replaceAll("'", ""));
    expect(policy).toContain(`style-src ${hash(style)}`);
    const none = ["default-src", "base-uri", "form-action", "frame-ancestors"];
    for (const rule of [
      "connect-src 'self'",
      "img-src data:",
      ...none.map((of) => `${of} 'none'`),
    ]) {
      expect(policy).toContain(rule);
    }
    // An address of the console may hold the ids of objects.
    expect(reply.headers.get("referrer-policy")).toBe("no-referrer");
    expect(reply.headers.get("x-content-type-options")).toBe("nosniff");
    // Its only script is the one that the policy names; an attribute would be blocked.
    expect(html.match(/<script/g)).toHaveLength(1);
    expect(html.replace(script, "")).not.toMatch(/ (?:style|on\w+)=/);
    await stop();
  });

  test("is one small file for all of its paths, and answered with 304 where it is known", async () => {
    const { get, stop } = await openPage();
    const packed = await get("/console/approvals/x?show=all", { "accept-encoding": "gzip" });
    expect(packed.headers.get("content-encoding")).toBe("gzip");
    const bytes = await packed.bytes();
    const plain = await get("/console/");
    expect(plain.headers.get("content-encoding")).toBeNull();
    for (const { headers } of [packed, plain]) {
      // A cache may keep it, and asks each time.
      expect([headers.get("cache-control"), headers.get("vary")]).toEqual([
        ...["no-cache", "Accept-Encoding"],
      ]);
    }
    const unpacked = Buffer.from(Bun.gunzipSync(new Uint8Array(bytes))).toString();
    expect(unpacked).toBe(await plain.clone().text());
    const others = await Promise.all(["later", "arabic"].map((name) => get(`/console/${name}.js`)));
    const texts = [plain, ...others].map((reply) => reply.clone().text());
    const [first, ...rest] = (await Promise.all(texts)).map(weigh);
    expect(first).toBeLessThan(FIRST_BYTES);
    expect(rest.reduce((sum, size) => sum + size, first!)).toBeLessThan(ALL_BYTES);
    const etag = plain.headers.get("etag")!;
    expect((await get("/console/", { "if-none-match": etag })).status).toBe(304);
    expect((await get("/console/", { "if-none-match": '"older"' })).status).toBe(200);
    const start = await get("/console");
    expect([start.status, start.headers.get("location")]).toEqual([308, "/console/"]);
    await stop();
  });

  test("keeps logical properties, so that the direction decides and not the language", async () => {
    const { get, stop } = await openPage();
    const style = /<style>(.*?)<\/style>/s.exec(await (await get("/console/")).text())![1]!;
    expect(style).toContain("inset-inline-start:0");
    expect(style).toContain(":dir(rtl)>.flip");
    expect(style.match(/:lang\(\w+\)/g)!.every((rule) => rule === ":lang(ar)")).toBeTrue();
    // Strings keep their spaces.
    expect(style).toContain('content:"$ "');
    await stop();
  });

  test("does not exist where the operator API is switched off", async () => {
    const { get, stop } = await openPage("[operator]\nenabled = false\n");
    expect((await get("/console/")).status).toBe(404);
    expect((await get("/console/approvals")).status).toBe(404);
    await stop();
  });
});
