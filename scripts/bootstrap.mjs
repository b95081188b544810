// Brings Bun and the dependencies to a machine that has only Node with npm, then starts or tests.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, "node_modules");
const windows = process.platform === "win32";

// The first Bun lies beside the modules that it will install; Bun leaves dotted folders alone.
const cradle = "node_modules/.bootstrap";
const stamp = join(modules, ".installed");

// What npm and Bun say when the registry cannot be reached.
const npmOffline = "ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH";
const bunOffline = "DNSResolveFailed|ConnectionRefused|ConnectionClosed|FailedToOpenSocket|Timeout";
const offline = new RegExp(`^.*(${npmOffline}|${bunOffline}).*`, "m");

function main() {
  if (Number(process.versions.node.split(".")[0]) < 18) {
    fail(`Wadi needs Node 18 or newer to install itself, and this is ${process.version}.`);
  }
  const [verb, ...rest] = process.argv.slice(2);
  if (verb !== "start" && verb !== "test") {
    fail("Usage: node scripts/bootstrap.mjs start|test [arguments]", 2);
  }
  const bun = prepare();
  if (verb === "test") return become(bun, [join(root, "scripts/test.ts"), ...rest]);
  const built = spawnSync(bun, ["scripts/build.ts", "--if-stale"], { cwd: root, stdio: "inherit" });
  if (built.status !== 0) process.exit(1);
  become(join(root, "dist", windows ? "wadi.exe" : "wadi"), ["dev", ...rest]);
}

/** Makes sure that the pinned Bun and the locked dependencies are there; returns Bun's path. */
function prepare() {
  const version = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).devDependencies.bun;
  const bun = findBun(version) || fetchBun(version);
  const wanted = createHash("sha256")
    .update(readFileSync(join(root, "bun.lock")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return bun;
  say("Installing the dependencies …");
  attempt("the dependencies", bun, ["install", "--frozen-lockfile"]);
  const wrapper = join(modules, "bun/bin/bun.exe");
  if (!answers(wrapper, version)) {
    // Bun's install script did not run; it only copies the executable that lies beside it.
    spawnSync(process.execPath, ["node_modules/bun/install.js"], { cwd: root });
  }
  writeFileSync(stamp, wanted);
  if (!answers(wrapper, version)) return bun;
  rmSync(join(root, cradle), { recursive: true, force: true });
  return wrapper;
}

/** The first executable that answers with this version: on each machine only its own kind runs. */
function findBun(version) {
  const places = [join(modules, "bun/bin/bun.exe")];
  for (const scope of [join(modules, "@oven"), join(root, cradle, "node_modules/@oven")]) {
    for (const platform of existsSync(scope) ? readdirSync(scope) : []) {
      places.push(join(scope, platform, "bin", windows ? "bun.exe" : "bun"));
    }
  }
  return places.find((place) => answers(place, version));
}

function answers(bun, version) {
  if (!existsSync(bun)) return false;
  const { status, stdout } = spawnSync(bun, ["--version"], { encoding: "utf8" });
  return status === 0 && stdout.trim() === version;
}

function fetchBun(version) {
  say(`Installing Bun ${version} from npm …`);
  const npm = process.env.npm_execpath || "";
  const options = ["--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"];
  // npm's own pauses between attempts let a machine without a network wait for minutes.
  const patience = ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"];
  const args = ["install", "--prefix", cradle, ...options, ...patience, `bun@${version}`];
  if (npm.endsWith("npm-cli.js")) attempt("Bun", process.execPath, [npm, ...args]);
  else attempt("Bun", "npm", args);
  const bun = findBun(version);
  if (!bun)
    fail(`Bun ${version} does not run on this machine (${process.platform} ${process.arch}).`);
  return bun;
}

/** Runs one installer without a word, or ends with what it said and one sentence. */
function attempt(what, command, args) {
  const shell = windows && command === "npm";
  const done = spawnSync(command, args, { cwd: root, encoding: "utf8", shell });
  if (done.error)
    fail(`Wadi cannot install ${what}: ${command} does not run (${done.error.code}).`);
  if (done.status === 0) return;
  const said = `${done.stdout}${done.stderr}`.trim();
  const unreached = offline.exec(said);
  say(unreached ? unreached[0] : said);
  const why = unreached
    ? "the npm registry cannot be reached, so check the network and npm's proxy settings"
    : "the installer refused, for the reason above";
  fail(`Wadi cannot install ${what}: ${why}.`);
}

/** Stands in for a program: its streams, its signals and its exit code are this process's own. */
function become(command, args) {
  // Node's own options were for this process; the program refuses to start under them.
  const { NODE_OPTIONS, ...env } = process.env;
  const child = spawn(command, args, { stdio: "inherit", env });
  // A terminal sends these to the whole group: passing them on would count twice.
  const shared = process.stdin.isTTY ? ["SIGINT", "SIGHUP", "SIGQUIT"] : [];
  for (const signal of ["SIGINT", "SIGHUP", "SIGQUIT", "SIGTERM"]) {
    process.on(signal, () => shared.includes(signal) || child.kill(signal));
  }
  child.on("error", (error) => fail(`Wadi cannot start ${command}: ${error.message}.`));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

function fail(text, code = 1) {
  say(text);
  process.exit(code);
}

main();
