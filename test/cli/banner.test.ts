// Tests the output of a start: few lines, and a command that a shell parses.
import { expect, test } from "bun:test";
import { type Start, writeBanner } from "../../src/cli/banner.ts";

const START: Start = {
  version: "1.2.3",
  url: "http://127.0.0.1:8080",
  data: "./wadi-data",
  models: [
    { id: "stub-1", state: "on" },
    { id: "stub-2", state: "on" },
  ],
  default_model: "stub-2",
  services: [
    { name: "embeddings", kind: "tei" },
    { name: "search", kind: "off" },
  ],
  egress: { open: [] },
  keys: ["svc_sk_one", "svc_sk_two"],
  key_file: null,
};

test("the banner names what runs, its address and an example request", () => {
  expect(writeBanner(START, ["keys      two"]).split("\n")).toEqual([
    "wadi 1.2.3",
    "address   http://127.0.0.1:8080/v1",
    "openapi   http://127.0.0.1:8080/openapi.json",
    "data      ./wadi-data",
    "models    stub-1 stub-2 (default)",
    "services  embeddings (tei) · search (off)",
    "keys      two",
    "",
    "curl http://127.0.0.1:8080/v1/chat/completions -H 'Authorization: Bearer svc_sk_one'" +
      " -H 'Content-Type: application/json'" +
      ' -d \'{"messages":[{"role":"user","content":"Hello"}]}\'',
    "",
  ]);
});

test("without a key to show, the example uses the caller's own", () => {
  const banner = writeBanner({ ...START, keys: [] }, []);
  expect(banner).toContain('-H "Authorization: Bearer $KEY"');
});

test("with a key in a file, the example reads that file, whatever its name", () => {
  const banner = writeBanner({ ...START, keys: [], key_file: "it's/first-key" }, []);
  expect(banner).toContain(`-H "Authorization: Bearer $(cat 'it'\\''s/first-key')"`);
});

test("many models fit one line", () => {
  const models = Array.from({ length: 50 }, (_, i) => ({ id: `model-${i}`, state: "on" as const }));
  const lines = writeBanner({ ...START, models }, ["", "", ""])
    .trimEnd()
    .split("\n");
  expect(lines.length).toBeLessThanOrEqual(12);
  expect(lines[4]).toEndWith("model-7 …");
  const eight = writeBanner({ ...START, models: models.slice(0, 8) }, []).split("\n");
  expect(eight[4]).toEndWith("model-7");
});

test("a disabled or blocked model is marked", () => {
  const models = [
    { id: "stub-1", state: "blocked" },
    { id: "stub-2", state: "off" },
    { id: "stub-3", state: "on" },
  ] as const;
  const line = writeBanner({ ...START, models }, []).split("\n")[4];
  expect(line).toBe("models    stub-1 (blocked) stub-2 (default, off) stub-3");
});

test("overridden paths are listed, eight of them by name", () => {
  const open = ["127.0.0.1:*", "[::1]:8080"];
  const lines = writeBanner({ ...START, egress: { open } }, ["a", "b", "c"]).split("\n");
  expect(lines[6]).toBe("egress    open to 127.0.0.1:* [::1]:8080");
  expect(lines.slice(0, -1).length).toBeLessThanOrEqual(12);
  const many = Array.from({ length: 11 }, (_, index) => `10.0.0.${index}:*`);
  expect(writeBanner({ ...START, egress: { open: many } }, []).split("\n")[6]).toBe(
    `egress    open to ${many.slice(0, 8).join(" ")} and 3 more`,
  );
});
