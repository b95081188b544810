// Rules of a single file: forbidden uses, size, name and first sentence.

import { moduleOf } from "./module-graph.ts";
import { type Breach, find, type Rule } from "./rule.ts";

// Sources of time, chance and requests are injected, so that tests control them.
const outside: [RegExp, string][] = [
  [/\bDate\.now\b|\bnew Date\b(?!\s*\(\s*[^\s)])|\bTemporal\.Now\b/, "the wall clock"],
  [/\bperformance\.now\b|\bBun\.nanoseconds\b|\bprocess\.hrtime\b/, "the monotonic clock"],
  [/\bMath\.random\b|\brandom(UUID|UUIDv7|Bytes|Int)\b|\bgetRandomValues\b/, "random numbers"],
  [/(?<![.\w$])set(Timeout|Interval|Immediate)\b|\bglobalThis\.set/, "timers"],
  [/\bBun\.sleep|\bAbortSignal\.timeout\b/, "timers"],
  [/(?<![.\w$])fetch\s*\(|\b(globalThis|Bun)\.fetch\b/, "fetch"],
];
/** Code of the browser has no injected parts. */
const isOfBrowser = (path: string) => path.startsWith("src/console/client/");
const infrastructure = ["platform", "net", "crypto", "database", "cluster"];
const environment: [RegExp, string][] = [
  [/(?<![.\w$])console\.\w/, "the console"],
  [/\bprocess\.env\b|\bBun\.env\b|\bimport\.meta\.env\b/, "the environment"],
];

export const fileRules: Rule[] = [
  {
    says: "clocks, random numbers, timers and fetch belong to the infrastructure",
    check(file) {
      if (infrastructure.includes(moduleOf(file.path)) || isOfBrowser(file.path)) return [];
      return outside.flatMap(([pattern, what]) => find(file, pattern, `uses ${what}`));
    },
    refuses: [
      "const now = Date.now();",
      "const now = new Date();",
      "const now = +new Date;",
      "const id = crypto.randomUUID();",
      "const dice = Math.random();",
      "const start = performance.now();",
      "setTimeout(end, 5);",
      "const timer = globalThis.setInterval(tick, 5);",
      "await Bun.sleep(5);",
      "const signal = AbortSignal.timeout(5);",
      "const reply = await fetch(url);",
      'const quote = /["`]/; const now = Date.now();',
      `const text = \`\${fetch(url)}\`;`,
    ].map((text) => ({ "src/access/keys.ts": text })),
    allows: [
      "const then = new Date(\n  then_ms,\n);",
      "const reply = await egress.fetch(url); // never fetch(url)",
      'throw new Error("Date.now() is not here");',
      "queueMicrotask(run);",
      "clock.setTimeout(run, 5);",
    ].map((text) => ({ "src/access/keys.ts": text })),
  },
  {
    says: "the console and the environment belong to the platform, the command line and main.ts",
    check(file) {
      if (["platform", "cli", "main"].includes(moduleOf(file.path))) return [];
      return environment.flatMap(([pattern, what]) => find(file, pattern, `uses ${what}`));
    },
    refuses: [
      { "src/app.ts": "const port = process.env.PORT;" },
      { "src/http/router.ts": "console.log(request);" },
    ],
    allows: [{ "src/cli/dev.ts": "console.log(process.env.PORT);" }],
  },
  {
    says: "a file has at most 400 lines of at most 100 columns",
    check(file) {
      const lines = file.text.replace(/\n$/, "").split("\n");
      const long = lines.flatMap((line, at): Breach[] => {
        const columns = [...line].length;
        return columns > 100 ? [[at + 1, `has ${columns} columns`]] : [];
      });
      return lines.length > 400 ? [[401, `has ${lines.length} lines`], ...long] : long;
    },
    refuses: [
      { "src/access/key.ts": "\n".repeat(401) },
      { "src/access/key.ts": `// ${"x".repeat(98)}` },
    ],
    allows: [{ "src/access/key.ts": `${"ü".repeat(100)}\n`.repeat(400) }],
  },
  {
    says: "a file opens with a sentence that says what it is for",
    check(file) {
      const opening = /^(\/\/ .*\n?)+/.exec(file.text)?.[0] ?? "";
      return /^\/\/ [\p{L}`"]/u.test(opening) && /[.!?]\s*$/.test(opening)
        ? []
        : [[1, "opens with no full sentence"]];
    },
    refuses: ["", "import x;\n// Late.", "/** Block. */", "//No space.", "// Names of keys"].map(
      (text) => ({ "src/access/key.ts": text }),
    ),
    allows: [{ "src/access/key.ts": "// A sentence that needs\n// two lines.\nimport x;" }],
  },
  {
    says: "nothing is exported by default",
    check: (file) =>
      find(file, /\bexport\s+default\b|\bas\s+default\b(?!.*\bfrom\s*["'])/, "exports by default"),
    refuses: [
      { "src/access/key.ts": "export default 1;" },
      { "src/access/key.ts": "export { key as default };" },
    ],
  },
  {
    says: "files and folders have kebab-case names that say what is inside",
    check(file) {
      return file.path
        .replace(/\.tsx?$/, "")
        .split("/")
        .filter(
          (name) =>
            !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) ||
            /(^|-)(utils?|helpers?|managers?|common)$|^types?$/.test(name),
        )
        .map((name) => [1, `is called ${name}`]);
    },
    refuses: ["utils", "key-helpers", "types", "common/key", "rateLimit", "key_store"].map(
      (name) => ({ [`src/access/${name}.ts`]: "" }),
    ),
    allows: [{ "src/database/migrations/0001-content-types.ts": "" }],
  },
];
