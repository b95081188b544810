// Bundles the console's page with its script and its style into one HTML text.
import { join } from "node:path";

export async function bundleConsole(): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, "client/index.html")],
    target: "browser",
    // One text, so that one request shows everything.
    compile: true,
    minify: true,
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return outputs[0]!.text();
}
