// Several compiled servers on one PostgreSQL and one Valkey, each with a data directory of its own.
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRoom, type Room, type RunOptions, type Server } from "./binary.ts";
import { openServer } from "./database.ts";
import { HAS_VALKEY, startValkey } from "./valkey.ts";

const POSTGRES = process.env.WADI_TEST_POSTGRES;

/** Why several servers cannot be tried here; null: they can. */
export const MISSING = !POSTGRES
  ? "WADI_TEST_POSTGRES names no server of PostgreSQL"
  : HAS_VALKEY
    ? null
    : "neither valkey-server nor redis-server is there";

export interface TestCluster {
  room: Room;
  /** Environment with the addresses of both, for commands. */
  env: Record<string, string>;
  url: string;
  /** Path in the data directory of a server. */
  file(name: string, file: string): string;
  /** Starts a server of that name, on settings of its own. */
  serve(
    name: string,
    settings?: string,
    options?: RunOptions & { args?: readonly string[] },
  ): Promise<Server>;
  writeSettings(name: string, settings: string): void;
  command(name: string, ...args: readonly string[]): ReturnType<Room["run"]>;
  close(): Promise<void>;
}

export async function openCluster(): Promise<TestCluster> {
  const room = openRoom();
  const setup = openServer(POSTGRES!);
  const place = await setup.makePlace();
  const { url } = place as Extract<typeof place, { kind: "postgres" }>;
  const valkey = await startValkey();
  const env = { WADI_SERVER__DATABASE: url, WADI_SERVER__VALKEY: valkey.url };
  const names: string[] = [];
  const folder = (name: string) => join(room.directory, name);
  const writeSettings = (name: string, settings: string) => {
    mkdirSync(folder(name), { recursive: true });
    writeFileSync(join(folder(name), "wadi.toml"), settings);
  };
  const file = (name: string, path: string) => join(folder(name), "wadi-data", path);
  return {
    ...{ room, env, url, writeSettings, file },
    serve(name, settings = "", { args = ["serve", "--port", "0"], ...options } = {}) {
      writeSettings(name, settings);
      // Machines with the same data have the same secrets key.
      const [first] = names;
      if (first !== undefined && !names.includes(name)) {
        mkdirSync(join(folder(name), "wadi-data"), { recursive: true });
        copyFileSync(file(first, "secrets.key"), file(name, "secrets.key"));
      }
      names.push(name);
      return room.serve(args, {
        ...{ cwd: folder(name), ...options },
        env: { ...env, ...options.env },
      });
    },
    command: (name, ...args) => room.run(args, { cwd: folder(name), env }),
    async close() {
      await room.close();
      await setup.release();
      await valkey.stop();
    },
  };
}
