// Tests the process: its life, its user's name, no terminal, and no proxy for fetch.
import { expect, test } from "bun:test";
import { dropProxyVariables, nameUser } from "../../src/platform/process.ts";

test("the proxy variables are dropped in any case, and no others", () => {
  const env: Record<string, string | undefined> = {
    HTTP_PROXY: "a",
    https_proxy: "b",
    All_Proxy: "c",
    NO_PROXY: "d",
    MY_HTTP_PROXY: "stays",
    HTTP_PROXY_PORT: "stays",
  };
  dropProxyVariables(env);
  expect(env).toEqual({ MY_HTTP_PROXY: "stays", HTTP_PROXY_PORT: "stays" });
});

test("fetch uses the proxy of the environment before, and none afterwards", async () => {
  using target = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("direct") });
  using proxy = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("proxy") });
  const script = `
    import { dropProxyVariables } from "${import.meta.resolve("../../src/platform/process.ts")}";
    const ask = async () => (await fetch("${target.url}", { keepalive: false })).text();
    const before = await ask();
    dropProxyVariables(process.env);
    console.log(before, await ask());
  `;
  const place = proxy.url.href;
  const child = Bun.spawn([process.execPath, "-e", script], {
    env: { HTTP_PROXY: place, http_proxy: place, ALL_PROXY: place, all_proxy: place },
  });
  expect(await child.stdout.text()).toBe("proxy direct\n");
});

test("the user's name comes from the system, not from the environment", () => {
  const before = process.env.USER;
  try {
    process.env.USER = "mallory";
    const said = Bun.spawnSync(["id", "-un"]).stdout.toString().trim();
    expect(nameUser()).toBe(said || `uid ${process.getuid!()}`);
  } finally {
    if (before === undefined) delete process.env.USER;
    else process.env.USER = before;
  }
});

test("a pipe, a file, the null device and a closed descriptor are no terminals", () => {
  const module = import.meta.resolve("../../src/platform/process.ts");
  const script = `
    import { closeSync } from "node:fs";
    import { isTerminal } from "${module}";
    const seen = [isTerminal(1), isTerminal(2)];
    closeSync(2);
    console.log(JSON.stringify([...seen, isTerminal(2)]));
  `;
  const command = [process.execPath, "-e", script];
  const { stdout } = Bun.spawnSync(command, { stdout: "pipe", stderr: Bun.file("/dev/null") });
  expect(JSON.parse(stdout.toString())).toEqual([false, false, false]);
});

test("a process stays alive for work that waits for a clock's timer, and then ends", async () => {
  const place = (file: string) => import.meta.resolve(`../../src/platform/${file}`);
  const run = async (delayMs: number, begin: string) => {
    const script = `
      import { createSystemClock, wait } from "${place("clock.ts")}";
      import { stayAlive } from "${place("process.ts")}";
      const work = wait(createSystemClock(), ${delayMs}).then(() => console.log("done"));
      ${begin}
    `;
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
    return [await child.stdout.text(), await child.exited];
  };
  expect(await run(600_000, "")).toEqual(["", 0]);
  expect(await run(20, "void stayAlive(work);")).toEqual(["done\n", 0]);
});
