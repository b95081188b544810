// Two members of PostgreSQL under patroni, with an etcd and a HAProxy, of a proof's own.
import { chownSync, closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { findClosedPort } from "../../test/support/ports.ts";
import { makeScratch } from "../bench/stage.ts";
import { AS_POSTGRES, findPrograms, readUser, signalServer } from "./own-postgres.ts";
import { until } from "./process-stage.ts";

/** Lifetime of the leader's key; patroni takes no shorter one. */
const TTL_S = 20;
const LOOP_S = 1;
const START_MS_MAX = 90_000;
const LOOK_EVERY_MS = 50;

/** HAProxy lies in a directory that only root's path has. */
const find = (program: string) => Bun.which(program, { PATH: `${process.env.PATH}:/usr/sbin` });

/** Programs that this machine lacks. */
export const listMissing = (): string[] =>
  ["patroni", "etcd", "haproxy"].filter((program) => find(program) === null);

export interface Member {
  name: string;
  /** Kills the PostgreSQL of the member, and its patroni too where the whole member ends. */
  kill(isWhole: boolean): void;
  /** Freezes or wakes both. */
  signal(name: "SIGSTOP" | "SIGCONT"): void;
  /** Starts patroni where it was ended. */
  start(): void;
}

export interface OwnPatroni {
  /** Address of the leader, whichever it is: the balancer's. */
  url: string;
  findLeader(): Promise<Member>;
  /** The leader has a synchronous standby. */
  isSafe(): Promise<boolean>;
  /** A new connection to the address reaches a server that takes writes. */
  takesWrites(): Promise<boolean>;
  stop(): Promise<void>;
}

interface Ports {
  etcd: number;
  balancer: number;
  members: { rest: number; postgres: number }[];
}

const nameMember = (at: number): string => `pg${at}`;

const configure = (scratch: string, at: number, { etcd, members }: Ports): string => {
  const { rest, postgres } = members[at]!;
  const user = { username: "postgres" };
  return JSON.stringify({
    ...{ scope: "wadi", name: nameMember(at) },
    restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${rest}` },
    // Over the third version of the interface, patroni 3.0 may stay without a standby.
    etcd: { host: `127.0.0.1:${etcd}` },
    bootstrap: {
      dcs: {
        ...{ ttl: TTL_S, loop_wait: LOOP_S, retry_timeout: 3, synchronous_mode: true },
        // A leader whose PostgreSQL has ended gives way at once.
        primary_start_timeout: 0,
        postgresql: {
          use_pg_rewind: true,
          parameters: { max_connections: 200, wal_log_hints: "on" },
        },
      },
      initdb: [{ auth: "trust" }, { encoding: "UTF8" }],
    },
    postgresql: {
      listen: `127.0.0.1:${postgres}`,
      connect_address: `127.0.0.1:${postgres}`,
      data_dir: join(scratch, nameMember(at)),
      bin_dir: findPrograms(),
      pgpass: join(scratch, `pgpass${at}`),
      authentication: { superuser: user, replication: user, rewind: user },
      parameters: { unix_socket_directories: scratch },
      pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
    },
  });
};

/** The example of the page "Several machines", with ports of its own. */
const writeBalancer = ({ balancer, members }: Ports): string => `defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h

listen leader
  bind 127.0.0.1:${balancer}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${members
  .map(
    ({ rest, postgres }, at) =>
      `  server ${nameMember(at)} 127.0.0.1:${postgres} check port ${rest} maxconn 200\n`,
  )
  .join("")}`;

export const startOwnPatroni = async (): Promise<OwnPatroni> => {
  const scratch = makeScratch();
  if (AS_POSTGRES.length > 0) chownSync(scratch, ...readUser("postgres"));
  const member = () => ({ rest: findClosedPort(), postgres: findClosedPort() });
  const ports = {
    ...{ etcd: findClosedPort(), balancer: findClosedPort() },
    members: [member(), member()],
  };
  const children = new Set<Bun.Subprocess>();
  const start = (program: string, args: readonly string[], log = program) => {
    const output = openSync(join(scratch, `${log}.log`), "a");
    const child = Bun.spawn([...AS_POSTGRES, find(program)!, ...args], {
      stdio: ["ignore", output, output],
    });
    closeSync(output);
    children.add(child);
    return child;
  };
  const listens = `http://127.0.0.1:${ports.etcd}`;
  const peers = `http://127.0.0.1:${findClosedPort()}`;
  const own = ["listen-client-urls", "advertise-client-urls"].map((name) => `--${name}=${listens}`);
  const etcdData = `--data-dir=${join(scratch, "etcd")}`;
  start("etcd", [...own, etcdData, `--listen-peer-urls=${peers}`, "--enable-v2"]);
  const balancer = join(scratch, "haproxy.cfg");
  writeFileSync(balancer, writeBalancer(ports));
  start("haproxy", ["-db", "-f", balancer]);
  const members = ports.members.map((_, at): Member => openMember(scratch, at, ports, start));
  for (const one of members) one.start();
  const answers = async (at: number, path: string) => {
    const url = `http://127.0.0.1:${ports.members[at]!.rest}${path}`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => null);
    return answer?.status === 200;
  };
  const findMember = async (path: string): Promise<Member | undefined> => {
    const found = await Promise.all(members.map((_, at) => answers(at, path)));
    return members[found.indexOf(true)];
  };
  const url = `postgres://postgres@127.0.0.1:${ports.balancer}/postgres`;
  const patroni: OwnPatroni = {
    url,
    async findLeader() {
      const leader = await findMember("/primary");
      if (!leader) throw new Error("patroni has no leader");
      return leader;
    },
    isSafe: async () =>
      (await findMember("/primary")) !== undefined && (await findMember("/sync")) !== undefined,
    takesWrites: () => takesWrites(url),
    async stop() {
      for (const one of members) one.kill(true);
      for (const child of children) child.kill("SIGKILL");
      await Promise.all([...children].map(({ exited }) => exited));
    },
  };
  const isUp = async () => (await patroni.isSafe()) && (await patroni.takesWrites());
  await until("patroni has a leader and a standby", isUp, START_MS_MAX, LOOK_EVERY_MS);
  return patroni;
};

const openMember = (
  scratch: string,
  at: number,
  ports: Ports,
  start: (program: string, args: readonly string[], log: string) => Bun.Subprocess,
): Member => {
  const name = nameMember(at);
  const config = join(scratch, `${name}.yml`);
  const data = join(scratch, name);
  writeFileSync(config, configure(scratch, at, ports));
  let child: Bun.Subprocess;
  const kill = (isWhole: boolean) => {
    if (isWhole) child.kill("SIGKILL");
    try {
      signalServer(data, "SIGKILL");
    } catch {
      // PostgreSQL has ended before.
    }
  };
  return {
    name,
    kill,
    signal(signal) {
      // Frozen first and woken last, patroni sees no server that only hangs.
      if (signal === "SIGSTOP") child.kill(signal);
      signalServer(data, signal);
      if (signal === "SIGCONT") child.kill(signal);
    },
    start() {
      child = start("patroni", [config], name);
    },
  };
};

const takesWrites = async (url: string): Promise<boolean> => {
  const sql = new SQL({ url, max: 1, connectionTimeout: 1 });
  try {
    const [row] = await sql.unsafe("SELECT pg_is_in_recovery() AS is_standby");
    return !row.is_standby;
  } catch {
    return false;
  } finally {
    await sql.close({ timeout: 0 });
  }
};
