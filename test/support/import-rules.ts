// The import rules: the table of modules, their index files, circles, engines and SQL.

import { basename, dirname } from "node:path/posix";
import { type ModuleGraph, moduleOf, type SourceFile } from "./module-graph.ts";
import { type Breach, find, type Rule } from "./rule.ts";

const ground = ["platform", "settings", "net", "crypto", "database", "compute"];
const shared = [...ground, "storage", "installation", "cluster", "outbox", "retention"];

// The modules from top to bottom of the graph, each with its permitted imports.
export const mayImport: Record<string, readonly string[]> = {
  cli: [...shared, "backup", "admin", "docs", "takeover", "app"],
  console: ["platform", "http", "admin"],
  docs: ["platform", "settings", "http"],
  admin: [
    ...[...shared, "stores", "access", "models", "http"],
    ...["gateway", "agents", "triggers", "webhooks", "inventory"],
  ],
  observability: [
    ...["platform", "settings", "net", "compute", "models", "http", "gateway", "telemetry"],
  ],
  inventory: [...shared, "access", "models", "gateway", "agents", "triggers", "webhooks"],
  webhooks: [...shared, "access", "http"],
  triggers: [...shared, "access", "http", "agents"],
  agents: [...shared, "access", "models", "http", "gateway"],
  gateway: [...shared, "access", "models", "http"],
  models: [...shared, "access", "http"],
  http: [...shared, "access"],
  takeover: ["platform", "database", "access"],
  counters: ["platform", "database", "access"],
  access: shared,
  backup: ["platform", "settings", "database", "crypto", "cluster", "installation"],
  retention: ["platform", "database", "cluster"],
  outbox: ["platform", "database", "storage"],
  cluster: ["platform", "database"],
  storage: ["platform", "database"],
  installation: ["platform", "database"],
  telemetry: ["platform", "settings", "net"],
  crypto: ["platform", "database"],
  compute: ["platform"],
  database: ["platform"],
  settings: ["platform", "net"],
  net: ["platform"],
  platform: [],
};

const onlyFrom: Record<string, readonly string[]> = {
  "models → http": ["routes.ts", "index.ts"],
  "cli → app": ["dev.ts", "serve.ts", "installation.ts", "server.ts"],
  "admin → stores": ["admin.ts"],
};

const entryPoints: Record<string, readonly string[]> = {
  main: ["cli", "platform"],
  "writer-worker": ["stores", "database", "platform"],
  "compute-worker": ["agents", "models", "compute", "platform"],
  "watchdog-worker": ["cluster", "platform"],
  stores: [],
};

const notInWorkers: Record<string, readonly string[]> = {
  "writer-worker": ["src/http/index.ts", "src/net/index.ts"],
  "compute-worker": ["src/http/index.ts", "@sinclair/typebox"],
  "watchdog-worker": ["@sinclair/typebox"],
};

const isOwn = (path: string) => path.startsWith("src/");
const isComputation = (path: string) => basename(path) === "computations.ts";
const isEntryPoint = (module: string) => module === "app" || module in entryPoints;
const isStore = (path: string) =>
  !path.startsWith("src/database/") && (basename(path) === "store.ts" || path.includes("/store/"));

const checkImports = (
  file: SourceFile,
  check: (target: string, isTypeOnly: boolean) => string | false | undefined,
): Breach[] =>
  file.imports.flatMap(({ target, line, isTypeOnly }) => {
    const says = isOwn(target) && check(target, isTypeOnly);
    return says ? [[line, `imports ${target}: ${says}`]] : [];
  });

export const importRules: Rule[] = [
  {
    says: "a module imports only what the table allows",
    check(file) {
      const module = moduleOf(file.path);
      if (isEntryPoint(module)) return [];
      const allowed = mayImport[module];
      if (!allowed) return [[1, `stands in ${module}, a module that the table does not know`]];
      return checkImports(file, (target, isTypeOnly) => {
        const other = moduleOf(target);
        if (other === module) return;
        if (!isTypeOnly && file.path.startsWith("src/console/app/")) {
          return "code for the browser may import types only";
        }
        if (!allowed.includes(other)) {
          return `${module} may import ${allowed.join(", ") || "nothing"}`;
        }
        const files = onlyFrom[`${module} → ${other}`];
        return files && !files.includes(basename(file.path)) && `only ${files.join(", ")} may`;
      });
    },
    refuses: [
      { "src/platform/clock.ts": 'import { Key } from "../access/index.ts";' },
      { "src/access/key.ts": 'import type { Router } from "../http/index.ts";' },
      { "src/webhooks/schedule.ts": 'export { fire } from "../triggers/index.ts";' },
      { "src/models/registry.ts": 'import { Router } from "../http/index.ts";' },
      { "src/cli/keys.ts": 'import { build } from "../app.ts";' },
      { "src/http/router.ts": 'const chat = await import("../gateway/index.ts");' },
      { "src/gateway/index.ts": 'import { stores } from "../stores.ts";' },
      { "src/console/app/page.ts": 'import { holds } from "../../admin/index.ts";' },
      { "src/unknown/index.ts": "" },
    ],
    allows: [
      { "src/models/routes.ts": 'import { Router } from "../http/index.ts";' },
      { "src/cli/dev.ts": 'import { build } from "../app.ts";' },
      { "src/console/app/page.ts": 'import type { Hold } from "../../admin/index.ts";' },
      { "src/access/key.ts": '// import "../http/index.ts";\nconst s = \'from "../http/x.ts"\';' },
    ],
  },
  {
    says: "another module is imported by its index.ts, the platform file by file",
    check(file) {
      const module = moduleOf(file.path);
      if (isEntryPoint(module)) return [];
      return checkImports(file, (target) => {
        const other = moduleOf(target);
        const areStores = isStore(file.path) && isStore(target);
        if (other === "platform" || other === module || isEntryPoint(other) || areStores) return;
        return target !== `src/${other}/index.ts` && `only src/${other}/index.ts may be entered`;
      });
    },
    refuses: [
      { "src/http/router.ts": 'import { Key } from "../access/key.ts";' },
      { "src/http/router.ts": 'import type { keyStore } from "../access/store.ts";' },
      { "src/access/store.ts": 'import { sql } from "../database/sql.ts";' },
    ],
    allows: [
      { "src/http/router.ts": 'import { apiError } from "../platform/errors.ts";' },
      { "src/agents/runs/store/round.ts": 'import { start } from "../../../access/store.ts";' },
    ],
  },
  {
    says: "entry points import what they start: main.ts the cli, Workers their module, stores.ts stores",
    check(file) {
      const module = moduleOf(file.path);
      const allowed = entryPoints[module];
      if (!allowed) return [];
      return checkImports(file, (target) => {
        const fits =
          module === "stores"
            ? isStore(target)
            : allowed.includes(moduleOf(target)) &&
              (!["agents", "models"].includes(moduleOf(target)) || isComputation(target));
        return !fits && `${module}.ts may import ${allowed.join(", ") || "store.ts files"}`;
      });
    },
    refuses: [
      { "src/main.ts": 'import { build } from "./app.ts";' },
      { "src/writer-worker.ts": 'import { keys } from "./access/index.ts";' },
      { "src/compute-worker.ts": 'import { createAgents } from "./agents/index.ts";' },
      { "src/stores.ts": 'import { keys } from "./access/index.ts";' },
    ],
    allows: [
      { "src/stores.ts": 'import { keyStore } from "./access/store.ts";' },
      { "src/compute-worker.ts": 'import { computations } from "./agents/tools/computations.ts";' },
    ],
  },
  {
    says: "Workers load no code of the main thread, which would cost memory at every start",
    check(file, graph) {
      const unneeded = notInWorkers[moduleOf(file.path)] ?? [];
      return unneeded.flatMap((target): Breach[] => {
        const path = findPath(file, target, graph);
        return path ? [[1, `imports ${path.join(" → ")}`]] : [];
      });
    },
    refuses: [
      {
        "src/writer-worker.ts": 'import "./stores.ts";',
        "src/stores.ts": 'import { named } from "./http/index.ts";',
      },
    ],
    allows: [{ "src/writer-worker.ts": 'import type { Router } from "./http/index.ts";' }],
  },
  {
    says: "src/ stands alone: nothing beside it is imported",
    check: ({ imports }) =>
      imports
        .filter(({ target, isRelative }) => isRelative && !isOwn(target))
        .map(({ target, line }) => [line, `imports ${target}`]),
    refuses: [{ "src/cli/installation.ts": 'import manifest from "../../package.json";' }],
    allows: [{ "src/cli/installation.ts": 'import { join } from "node:path";' }],
  },
  {
    says: "files import each other in no circle, types aside",
    check(file, graph) {
      const path = findPath(file, file.path, graph);
      // Reported once for each circle, by the first of its files.
      if (!path || path.some((path) => path < file.path)) return [];
      return [[1, `imports itself by way of ${path.join(" → ")}`]];
    },
    refuses: [
      { "src/a/x.ts": 'import "./y.ts";', "src/a/y.ts": 'export * from "./x.ts";' },
      { "src/a/x.ts": 'import { type A } from "./x.ts";' },
    ],
    allows: [
      { "src/a/x.ts": 'import "./y.ts";', "src/a/y.ts": 'import type { X } from "./x.ts";' },
    ],
  },
  {
    says: "elysia stands only in src/http/ and in routes.ts",
    check(file) {
      if (moduleOf(file.path) === "http" || basename(file.path) === "routes.ts") return [];
      return file.imports
        .filter(({ target }) => /^(elysia|@elysiajs)(\/|$)/.test(target))
        .map(({ target, line }) => [line, `imports ${target}`]);
    },
    refuses: [{ "src/gateway/index.ts": 'import type { Elysia } from "elysia";' }],
    allows: [{ "src/gateway/chat/routes.ts": 'import { Elysia } from "elysia";' }],
  },
  {
    says: "database engines are named only in src/database/",
    check(file) {
      if (file.path.startsWith("src/database/")) return [];
      const engines = file.imports.filter(
        ({ target, clause }) =>
          target === "bun:sqlite" || (target === "bun" && /\bsql\b/i.test(clause)),
      );
      return [
        ...engines.map(({ target, line }): Breach => [line, `imports an engine from ${target}`]),
        ...find(file, /\bBun\.(SQL|sql)\b|\bnew SQL\s*\(/, "uses an engine"),
      ];
    },
    refuses: [
      { "src/access/store.ts": 'import { Database } from "bun:sqlite";' },
      { "src/access/store.ts": 'import { SQL } from "bun";' },
      { "src/access/store.ts": "const pool = new Bun.SQL(url);" },
      { "src/access/store.ts": "const pool = new SQL(url);" },
    ],
    allows: [{ "src/http/server.ts": 'import type { Server } from "bun"; // not Bun.SQL' }],
  },
  {
    says: "SQL stands only in src/database/ and in stores",
    check(file) {
      if (file.path.startsWith("src/database/") || isStore(file.path)) return [];
      return find(file, /\bsql`/, "holds SQL");
    },
    refuses: [{ "src/access/keys.ts": "db.all(Key, sql`SELECT * FROM keys`);" }],
    allows: [{ "src/agents/runs/store/round.ts": "db.all(Run, sql`SELECT * FROM runs`);" }],
  },
  {
    says: "stores.ts names every store",
    check(file, graph) {
      const { path } = file;
      const isEntrance = basename(path) === "index.ts" || !graph.has(`${dirname(path)}/index.ts`);
      if (!isStore(path) || (basename(path) !== "store.ts" && !isEntrance)) return [];
      const named = graph.get("src/stores.ts")?.imports ?? [];
      return named.some(({ target }) => target === path)
        ? []
        : [[1, "is missing in src/stores.ts"]];
    },
    refuses: [
      { "src/access/store.ts": "", "src/stores.ts": "" },
      { "src/agents/runs/store/index.ts": "", "src/stores.ts": "" },
    ],
    allows: [
      { "src/access/store.ts": "", "src/stores.ts": 'import { keys } from "./access/store.ts";' },
      { "src/database/store.ts": "" },
    ],
  },
];

/** The files on an import path from one file to another, without type imports. */
function findPath(
  file: SourceFile,
  goal: string,
  graph: ModuleGraph,
  seen = new Set<string>(),
): string[] | undefined {
  for (const { target } of file.imports.filter(({ isTypeOnly }) => !isTypeOnly)) {
    if (target === goal) return [goal];
    const next = graph.get(target);
    if (!next || seen.has(target)) continue;
    seen.add(target);
    const path = findPath(next, goal, graph, seen);
    if (path) return [target, ...path];
  }
}
