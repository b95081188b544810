// The destination of backups that a server makes by itself: a folder, or a bucket of S3.
import { accessSync, constants, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Clock, settlesWithin } from "../platform/clock.ts";
import type { BackupSettings } from "../settings/index.ts";
import { type BackupFile, createBackupFile } from "./file.ts";
import { explainFile } from "./file-failure.ts";
import { BackupError } from "./format.ts";

export interface BackupDestination {
  /** Lists the names that begin with the prefix. */
  list(prefix: string): Promise<readonly string[]>;
  /** Begins a backup, and removes what killed ones of the same prefix have left. */
  create(prefix: string, name: string): Promise<BackupFile>;
  remove(name: string): Promise<void>;
  /** Throws where no backup could be made; changes nothing. */
  check(): Promise<void>;
}

const PART_BYTES = 8 * 1_048_576;
/** Maximum time of one request: a snapshot that stays open lets the log of SQLite grow. */
const REQUEST_MS_MAX = 120_000;
/** Maximum time of a check, for which a person waits. */
const CHECK_MS_MAX = 15_000;
/** Bun's message where no answer has come, or one without a document. */
const UNANSWERED = "an unexpected error has occurred";
const CAUSE_CHARACTERS_MAX = 300;

export function openBackupDestination(
  settings: BackupSettings,
  data: string,
  clock: Clock,
): BackupDestination {
  const { to } = settings;
  return to.startsWith("s3://")
    ? openBucket(settings, clock)
    : openFolder(to === "" ? join(data, "backups") : to);
}

function openFolder(folder: string): BackupDestination {
  const attempt = <T>(work: () => T): T => {
    try {
      return work();
    } catch (failure) {
      throw explainFile(folder, "written", failure);
    }
  };
  const make = () => attempt(() => mkdirSync(folder, { recursive: true, mode: 0o700 }));
  return {
    async list(prefix) {
      make();
      return attempt(() => readdirSync(folder).filter((name) => name.startsWith(prefix)));
    },
    async create(prefix, name) {
      make();
      return createBackupFile(join(folder, name), prefix);
    },
    remove: async (name) => attempt(() => rmSync(join(folder, name), { force: true })),
    check: async () => attempt(() => requireWritable(folder)),
  };
}

/** A missing folder is made with the first backup. */
function requireWritable(folder: string): void {
  const stat = statSync(folder, { throwIfNoEntry: false });
  if (!stat) {
    requireWritable(dirname(resolve(folder)));
    return;
  }
  if (!stat.isDirectory()) throw new BackupError(`${folder} is no folder`);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch {
    throw new BackupError(`${folder} cannot be written to by this user`);
  }
}

/** Runs requests to a bucket: ends the wait for one, and explains its failure. */
type Ask = <T>(request: () => Promise<T>, withinMs?: number) => Promise<T>;

function openBucket(settings: BackupSettings, clock: Clock): BackupDestination {
  // A URL would change the text of keys.
  const [bucket, ...path] = settings.to.slice("s3://".length).split("/");
  const folder = path.join("/").replace(/^\/+|\/+$/g, "");
  const keyOf = (name: string) => (folder === "" ? name : `${folder}/${name}`);
  const client = new Bun.S3Client({
    ...{ bucket, accessKeyId: settings.access_key_id },
    secretAccessKey: settings.secret_access_key ?? "",
    region: settings.region || "us-east-1",
    ...(settings.endpoint !== "" && { endpoint: settings.endpoint }),
  });
  const place = `${settings.to} at ${URL.parse(settings.endpoint)?.host ?? "AWS"}`;
  const ask: Ask = async (request, withinMs = REQUEST_MS_MAX) => {
    try {
      const answer = request();
      const isDone = answer.then(
        () => {},
        () => {},
      );
      if (await settlesWithin(clock, withinMs, isDone)) return await answer;
    } catch (failure) {
      throw explainBucket(place, failure);
    }
    throw new BackupError(`${place} does not answer`);
  };
  return {
    async list(prefix) {
      const names: string[] = [];
      for (let startAfter: string | undefined; ; ) {
        const page = await ask(() => client.list({ prefix: keyOf(prefix), startAfter }));
        const keys = (page.contents ?? []).map(({ key }) => key);
        names.push(...keys.map((key) => key.slice(keyOf("").length)));
        if (!page.isTruncated || keys.length === 0) return names;
        startAfter = keys.at(-1);
      }
    },
    create: async (_, name) => upload(client, keyOf(name), ask),
    remove: (name) => ask(() => client.delete(keyOf(name))),
    async check() {
      await ask(() => client.list({ prefix: keyOf(""), maxKeys: 1 }), CHECK_MS_MAX);
    },
  };
}

function explainBucket(place: string, failure: unknown): unknown {
  const { name, code, message } = failure as Error & { code?: string };
  if (name !== "S3Error") return failure;
  if (message === UNANSWERED && code !== "UnknownError") {
    return new BackupError(
      `${place} cannot be reached (${code}): correct \`endpoint\`, or start its server`,
    );
  }
  // Without a sentence in the answer, the message is its document.
  const isSentence = message !== UNANSWERED && !message.startsWith("<");
  // A terminal must not obey what a server answers.
  const text = message.slice(0, CAUSE_CHARACTERS_MAX).replace(/\p{Cc}/gu, " ");
  const cause = isSentence ? `: ${text}` : "";
  return new BackupError(`${place} refuses the backup (${code})${cause}`);
}

/** An upload whose object appears at its end; a kill before that leaves no object. */
function upload(client: Bun.S3Client, key: string, ask: Ask): BackupFile {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  // Bun's S3 writer would publish what it has, since only a failed stream cancels an upload.
  const uploaded = client.write(key, new Response(readable), { partSize: PART_BYTES });
  // The caller that writes or finishes gets the failure, too.
  uploaded.catch(() => {});
  return {
    async write(bytes) {
      await ask(() => Promise.race([writer.write(bytes), uploaded]));
    },
    async finish() {
      await ask(() => Promise.all([writer.close(), uploaded]));
    },
    async abandon() {
      writer.abort(new BackupError("the backup was abandoned")).catch(() => {});
      await ask(() => uploaded).catch(() => {});
    },
  };
}
