// The place of backups on a timer: a folder, or a bucket of S3.
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Clock, settlesWithin } from "../platform/clock.ts";
import type { BackupSettings } from "../settings/index.ts";
import { type BackupFile, createBackupFile } from "./file.ts";
import { BackupError } from "./format.ts";

export interface BackupFolder {
  list(): Promise<readonly string[]>;
  create(name: string): Promise<BackupFile>;
  remove(name: string): Promise<void>;
}

const PART_BYTES = 8 * 1_048_576;
/** Maximum time of one request: a snapshot that stays open lets the log of SQLite grow. */
const REQUEST_MS_MAX = 120_000;

export function openBackupFolder(
  settings: BackupSettings,
  data: string,
  clock: Clock,
): BackupFolder {
  const { to } = settings;
  return to.startsWith("s3://")
    ? openBucket(settings, clock)
    : openDirectory(to === "" ? join(data, "backups") : to);
}

function openDirectory(directory: string): BackupFolder {
  return {
    async list() {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      return readdirSync(directory);
    },
    create: async (name) => createBackupFile(join(directory, name)),
    remove: async (name) => rmSync(join(directory, name), { force: true }),
  };
}

function openBucket(settings: BackupSettings, clock: Clock): BackupFolder {
  const { host: bucket, pathname } = new URL(settings.to);
  const prefix = pathname.replace(/^\/+|\/+$/g, "");
  const keyOf = (name: string) => (prefix === "" ? name : `${prefix}/${name}`);
  const client = new Bun.S3Client({
    bucket,
    accessKeyId: settings.access_key_id,
    secretAccessKey: settings.secret_access_key ?? "",
    region: settings.region || "us-east-1",
    ...(settings.endpoint !== "" && { endpoint: settings.endpoint }),
  });
  const within = async <T>(request: Promise<T> | T): Promise<T> => {
    const answer = Promise.resolve(request);
    const isDone = answer.then(
      () => {},
      () => {},
    );
    if (await settlesWithin(clock, REQUEST_MS_MAX, isDone)) return answer;
    throw new BackupError(`the bucket ${bucket} does not answer`);
  };
  return {
    async list() {
      const names: string[] = [];
      for (let startAfter: string | undefined; ; ) {
        const page = await within(client.list({ prefix: keyOf("wadi-"), startAfter }));
        const keys = (page.contents ?? []).map(({ key }) => key);
        names.push(...keys.map((key) => key.slice(keyOf("").length)));
        if (!page.isTruncated || keys.length === 0) return names;
        startAfter = keys.at(-1);
      }
    },
    async create(name) {
      const writer = client.file(keyOf(name)).writer({ partSize: PART_BYTES, queueSize: 2 });
      return {
        async write(bytes) {
          await within(writer.write(bytes));
          await within(writer.flush());
        },
        async finish() {
          await within(writer.end());
        },
        async abandon() {
          await within(writer.end(new BackupError("the backup was abandoned"))).catch(() => {});
        },
      };
    },
    remove: (name) => within(client.delete(keyOf(name))),
  };
}
