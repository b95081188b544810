// The texts that put a server into service, by kind.
import { writeCaddyfile } from "./caddy.ts";
import type { Deployment } from "./deployment.ts";
import { writeDockerfile } from "./docker.ts";
import { writeNginxServer } from "./nginx.ts";
import { writeSystemdUnit } from "./systemd.ts";

const WRITERS = {
  systemd: writeSystemdUnit,
  nginx: writeNginxServer,
  caddy: writeCaddyfile,
  docker: writeDockerfile,
};

export type ServiceTextKind = keyof typeof WRITERS;

export function writeServiceText(kind: ServiceTextKind, deployment: Deployment): string {
  return WRITERS[kind](deployment);
}
