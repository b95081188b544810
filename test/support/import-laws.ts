// The laws of who knows whom: the table of houses, their entrances, circles, engines and SQL.

import { basename, dirname } from "node:path/posix";
import { type Breach, find, type Law } from "./law.ts";
import { houseOf, type SourceFile, type Street } from "./street.ts";

// The houses from the top of the street to its ground, each with the houses that it may import.
export const mayImport: Record<string, readonly string[]> = {
  cli: ["platform", "operator", "app"],
  console: ["platform", "http", "operator"],
  operator: [
    "platform",
    "stores",
    "access",
    "models",
    "http",
    "gateway",
    "agents",
    "triggers",
    "webhooks",
  ],
  webhooks: ["platform", "access", "http"],
  triggers: ["platform", "access", "http", "agents"],
  agents: ["platform", "access", "models", "http", "gateway"],
  gateway: ["platform", "access", "models", "http"],
  models: ["platform", "access", "http"],
  http: ["platform", "access"],
  access: ["platform"],
  platform: [],
};

// Where a line of the table holds for these files only.
const onlyFrom: Record<string, readonly string[]> = {
  "models → http": ["routes.ts", "index.ts"],
  "cli → app": ["dev.ts", "serve.ts", "openapi.ts", "listening.ts"],
  "operator → stores": ["opening.ts"],
};

// The files that join the houses; app.ts knows everyone.
const joints: Record<string, readonly string[]> = {
  main: ["cli", "platform"],
  writer: ["stores", "platform"],
  compute: ["agents", "models", "platform"],
  watchdog: ["platform"],
  stores: [],
};

const isOurs = (path: string) => path.startsWith("src/");
/** What a compute Worker loads: it knows nothing else of a house. */
const isComputation = (path: string) => basename(path) === "computations.ts";
const isJoint = (house: string) => house === "app" || house in joints;
const isCellar = (path: string) =>
  !path.startsWith("src/platform/database/") &&
  (basename(path) === "store.ts" || path.includes("/store/"));

const judgeImports = (
  file: SourceFile,
  judge: (target: string, isTypeOnly: boolean) => string | false | undefined,
): Breach[] =>
  file.imports.flatMap(({ target, line, isTypeOnly }) => {
    const says = isOurs(target) && judge(target, isTypeOnly);
    return says ? [[line, `imports ${target}: ${says}`]] : [];
  });

export const importLaws: Law[] = [
  {
    says: "a house imports only what the table allows",
    judge(file) {
      const house = houseOf(file.path);
      if (isJoint(house)) return [];
      const allowed = mayImport[house];
      if (!allowed) return [[1, `stands in ${house}, a house that the table does not know`]];
      return judgeImports(file, (target, isTypeOnly) => {
        const other = houseOf(target);
        if (other === house) return;
        if (!isTypeOnly && file.path.startsWith("src/console/app/")) {
          return "code for the browser may import types only";
        }
        if (!allowed.includes(other)) {
          return `${house} may import ${allowed.join(", ") || "nothing of ours"}`;
        }
        const files = onlyFrom[`${house} → ${other}`];
        return files && !files.includes(basename(file.path)) && `only ${files.join(", ")} may`;
      });
    },
    refuses: [
      { "src/platform/clock.ts": 'import { Key } from "../access/index.ts";' },
      { "src/access/key.ts": 'import type { Door } from "../http/index.ts";' },
      { "src/webhooks/schedule.ts": 'export { fire } from "../triggers/index.ts";' },
      { "src/models/registry.ts": 'import { Door } from "../http/index.ts";' },
      { "src/cli/keys.ts": 'import { build } from "../app.ts";' },
      { "src/http/door.ts": 'const chat = await import("../gateway/index.ts");' },
      { "src/gateway/index.ts": 'import { stores } from "../stores.ts";' },
      { "src/console/app/page.ts": 'import { holds } from "../../operator/index.ts";' },
      { "src/cellar/index.ts": "" },
    ],
    allows: [
      { "src/models/routes.ts": 'import { Door } from "../http/index.ts";' },
      { "src/cli/dev.ts": 'import { build } from "../app.ts";' },
      { "src/console/app/page.ts": 'import type { Hold } from "../../operator/index.ts";' },
      { "src/access/key.ts": '// import "../http/index.ts";\nconst s = \'from "../http/x.ts"\';' },
    ],
  },
  {
    says: "another house is entered by its index.ts, as is a room of the platform that has one",
    judge(file, street) {
      const house = houseOf(file.path);
      if (house === "app" || house === "stores" || house === "compute") return [];
      return judgeImports(file, (target) => {
        const other = houseOf(target);
        const room = target.split("/").slice(0, 3).join("/");
        if (other === "platform") {
          const isRoom = street.has(`${room}/index.ts`) && !file.path.startsWith(`${room}/`);
          return isRoom && target !== `${room}/index.ts` && `only ${room}/index.ts may be entered`;
        }
        if (other === house || isJoint(other) || (isCellar(file.path) && isCellar(target))) return;
        return target !== `src/${other}/index.ts` && `only src/${other}/index.ts may be entered`;
      });
    },
    refuses: [
      { "src/http/door.ts": 'import { Key } from "../access/key.ts";' },
      { "src/http/door.ts": 'import type { keyStore } from "../access/store.ts";' },
      {
        "src/access/store.ts": 'import { sql } from "../platform/database/sql.ts";',
        "src/platform/database/index.ts": 'export { sql } from "./sql.ts";',
      },
      {
        "src/platform/outbox.ts": 'import { sql } from "./database/sql.ts";',
        "src/platform/database/index.ts": 'export { sql } from "./sql.ts";',
      },
    ],
    allows: [
      { "src/http/door.ts": 'import { refuse } from "../platform/refusal.ts";' },
      { "src/agents/runs/store/round.ts": 'import { start } from "../../../access/store.ts";' },
    ],
  },
  {
    says:
      "main.ts joins cli and platform, writer.ts stores and platform, compute.ts computations and " +
      "platform, stores.ts only cellars",
    judge(file) {
      const house = houseOf(file.path);
      const allowed = joints[house];
      if (!allowed) return [];
      return judgeImports(file, (target) => {
        const fits =
          house === "stores"
            ? isCellar(target)
            : allowed.includes(houseOf(target)) &&
              (house !== "compute" || houseOf(target) === "platform" || isComputation(target));
        return !fits && `${house}.ts may import ${allowed.join(", ") || "store.ts files"}`;
      });
    },
    refuses: [
      { "src/main.ts": 'import { build } from "./app.ts";' },
      { "src/writer.ts": 'import { keys } from "./access/index.ts";' },
      { "src/compute.ts": 'import { openAgents } from "./agents/index.ts";' },
      { "src/stores.ts": 'import { keys } from "./access/index.ts";' },
    ],
    allows: [
      { "src/stores.ts": 'import { keyStore } from "./access/store.ts";' },
      { "src/compute.ts": 'import { computations } from "./agents/tools/computations.ts";' },
    ],
  },
  {
    says: "src/ stands alone: nothing beside it is imported",
    judge: ({ imports }) =>
      imports
        .filter(({ target, isRelative }) => isRelative && !isOurs(target))
        .map(({ target, line }) => [line, `imports ${target}`]),
    refuses: [{ "src/cli/version.ts": 'import manifest from "../../package.json";' }],
    allows: [{ "src/cli/version.ts": 'import { join } from "node:path";' }],
  },
  {
    says: "files import each other in no circle, types aside",
    judge(file, street) {
      const way = findWay(file, file.path, street);
      // Told once for each circle, by the first of its files.
      if (!way || way.some((path) => path < file.path)) return [];
      return [[1, `imports itself by way of ${way.join(" → ")}`]];
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
    judge(file) {
      if (houseOf(file.path) === "http" || basename(file.path) === "routes.ts") return [];
      return file.imports
        .filter(({ target }) => /^(elysia|@elysiajs)(\/|$)/.test(target))
        .map(({ target, line }) => [line, `imports ${target}`]);
    },
    refuses: [{ "src/gateway/index.ts": 'import type { Elysia } from "elysia";' }],
    allows: [{ "src/gateway/chat/routes.ts": 'import { Elysia } from "elysia";' }],
  },
  {
    says: "database engines are named only in src/platform/database/",
    judge(file) {
      if (file.path.startsWith("src/platform/database/")) return [];
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
    allows: [{ "src/http/entrance.ts": 'import type { Server } from "bun"; // not Bun.SQL' }],
  },
  {
    says: "SQL stands only in src/platform/database/ and in cellars",
    judge(file) {
      if (file.path.startsWith("src/platform/database/") || isCellar(file.path)) return [];
      return find(file, /\bsql`/, "holds SQL");
    },
    refuses: [{ "src/access/keys.ts": "db.all(Key, sql`SELECT * FROM keys`);" }],
    allows: [{ "src/agents/runs/store/round.ts": "db.all(Run, sql`SELECT * FROM runs`);" }],
  },
  {
    says: "stores.ts names every cellar",
    judge(file, street) {
      const { path } = file;
      const isEntrance = basename(path) === "index.ts" || !street.has(`${dirname(path)}/index.ts`);
      if (!isCellar(path) || (basename(path) !== "store.ts" && !isEntrance)) return [];
      const named = street.get("src/stores.ts")?.imports ?? [];
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
      { "src/platform/database/store.ts": "" },
    ],
  },
];

/** The files by which the imports of one file come to another, types aside. */
function findWay(
  file: SourceFile,
  goal: string,
  street: Street,
  seen = new Set<string>(),
): string[] | undefined {
  for (const { target } of file.imports.filter(({ isTypeOnly }) => !isTypeOnly)) {
    if (target === goal) return [goal];
    const next = street.get(target);
    if (!next || seen.has(target)) continue;
    seen.add(target);
    const way = findWay(next, goal, street, seen);
    if (way) return [target, ...way];
  }
}
