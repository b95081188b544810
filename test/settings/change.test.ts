// Tests changed settings at run time: which apply at once, which wait, and the report.
import { expect, test } from "bun:test";
import {
  applySettings,
  describeChange,
  readSettings,
  SettingsError,
} from "../../src/settings/index.ts";

const read = (text: string, env = {}) => readSettings(text, "wadi.toml", env, {});

/** Models with these ids and further settings. */
const models = (ids: readonly string[], more = "") =>
  ids.map((id) => `[[models]]\nid = "${id}"\nupstream = { kind = "stub" }\n${more}\n`).join("");

test("models, prices, limits and service settings are taken over", () => {
  const before = read(models(["a"]));
  const after = read(`
[server]
public_url = "https://acme.example"
stop_timeout = "5s"
[service]
operator = "acme"
changelog_url = "https://acme.example/changes"
[limits]
requests_per_minute = 7
${models(["b"], 'price = { prompt = "1", completion = "2" }')}`);
  expect(applySettings(before, after)).toEqual({ settings: after, pending: [] });
});

test("a setting that needs a restart keeps its value, and is named", () => {
  const before = read(models(["a"]));
  const env = { DATABASE: "postgres://u:secret@db/wadi" };
  const after = read(
    `[server]\nhost = "::1"\nport = 1\ndata = "./else"\ndatabase_env = "DATABASE"
secrets_key_file = "./key"\n[service]\nalias = "acme"\n${models(["b"])}`,
    env,
  );
  const { settings, pending } = applySettings(before, after);
  expect(pending).toEqual([
    "server.host",
    "server.port",
    "server.data",
    "server.database",
    "server.database_env",
    "server.secrets_key_file",
    "service.alias",
  ]);
  expect(settings).toEqual(read(models(["b"])));
  expect(Object.isFrozen(settings.server)).toBe(true);
  expect(describeChange(before, settings)).toBe(
    "models added: b; models removed: a; service.default_model",
  );
});

test("a model with the name of the current alias is refused", () => {
  const before = read(models(["a"]));
  const after = read(`[service]\nalias = "acme"\n${models(["a", "svc"])}`);
  expect(() => applySettings(before, after)).toThrow(SettingsError);
  expect(() => applySettings(before, after)).toThrow("the model svc has the name of the alias");
  const second = read(`[service]\nalias = "acme"\n${models(["a", "svc-v0"])}`);
  expect(() => applySettings(before, second)).toThrow("the model svc-v0 has the name");
});

test("no change gives no report", () => {
  expect(describeChange(read(models(["a"])), read(models(["a"])))).toBe("");
});

test("a changed model is reported with the changed settings, and never with a value", () => {
  const upstream = (key: string) => `
[[models]]
id = "a"
[models.upstream]
kind = "openai"
urls = ["http://10.0.0.1/${key}/v1"]
api_key_env = "KEY"
headers = { x-secret = "${key}" }`;
  const before = read(upstream("secret-1"), { KEY: "secret-3" });
  const after = read(upstream("secret-2"), { KEY: "secret-4" });
  expect(describeChange(before, after)).toBe("models changed: a (upstream)");
});

test("limits are reported with their numbers, and the order of models by name", () => {
  const before = read(`${models(["a", "b"])}[limits]\nrequests_per_minute = 5\n`);
  const after = read(`[service]\ndefault_model = "a"\n${models(["b", "a"])}`);
  expect(describeChange(before, after)).toBe(
    "the order of the models; limits.requests_per_minute 5 -> 120",
  );
});

test("some of very many models are named and the others counted", () => {
  const ids = Array.from({ length: 300 }, (_, n) => `m${n}`);
  expect(describeChange(read(models(["a"])), read(models(["a", ...ids])))).toBe(
    "models added: m0, m1, m2, m3, m4, m5, m6, m7 and 292 more",
  );
  const eight = read(models(["a", ...ids.slice(0, 8)]));
  expect(describeChange(read(models(["a"])), eight)).toEndWith(": m0, m1, m2, m3, m4, m5, m6, m7");
  const long = read(models(["a", "x".repeat(128)]));
  expect(describeChange(read(models(["a"])), long)).toBe(`models added: ${"x".repeat(64)}…`);
});
