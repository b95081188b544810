// The proxies and the judge of units that the texts of `wadi init` are tried with: below
// WADI_TEST_PROXIES, or on the path.
import { existsSync } from "node:fs";
import { join } from "node:path";

const ADMIN_PATHS = ["/usr/sbin", "/sbin"];

function find(program: string, place: string): string | null {
  const file = join(process.env.WADI_TEST_PROXIES ?? "", place, program);
  if (process.env.WADI_TEST_PROXIES !== undefined && existsSync(file)) return file;
  return Bun.which(program, { PATH: [process.env.PATH, ...ADMIN_PATHS].join(":") });
}

export const nginx = find("nginx", "usr/sbin");
export const caddy = find("caddy", "usr/bin");
export const systemdAnalyze = find("systemd-analyze", "usr/bin");

if (!nginx) console.log("nginx is not there: its server block is not tried.");
if (!caddy) console.log("caddy is not there: the Caddyfile is not tried.");
if (!systemdAnalyze) console.log("systemd-analyze is not there: the unit is not judged.");
