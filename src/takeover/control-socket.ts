// The control socket of a data directory: only its owner reaches the process that serves the data.

import { chmodSync, renameSync, rmSync, statSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { type AnswerChannel, Channel } from "./channel.ts";
import { TakeoverRefused } from "./errors.ts";

const NAME = "control.sock";
/** Maximum length that the system calls are known to accept here. */
const PATH_BYTES_MAX = 200;

/** Only Linux has what a takeover needs. */
export const canTakeOver = process.platform === "linux";

export function placeControlSocket(directory: string): string {
  return join(directory, NAME);
}

/**
 * Listens in place of a socket that a process before has left, or still has. `close` leaves the one
 * that another process has put in its place.
 */
export async function listenForControl(
  path: string,
  answer: AnswerChannel,
): Promise<{ close(): void }> {
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) {
    throw new TakeoverRefused(
      `the path of the control socket is longer than ${PATH_BYTES_MAX} bytes`,
    );
  }
  const own = `${path}.${process.pid}`;
  rmSync(own, { force: true });
  const server = createServer((socket) => void new Channel(socket, answer));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(own, resolve);
  });
  chmodSync(own, 0o600);
  // A server removes the name that it was opened with, which is gone by then.
  renameSync(own, path);
  server.unref();
  const made = nameInode(path);
  return {
    close() {
      try {
        // The inode stays that of this server as long as it is open.
        if (nameInode(path) === made) rmSync(path, { force: true });
      } catch {
        // A socket that stays refuses connections.
      }
      server.close();
    },
  };
}

function nameInode(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.dev}:${found.ino}` : null;
}

/** Connects to the process that serves the data; null where none runs. */
export async function connectToControl(
  path: string,
  answer: AnswerChannel,
): Promise<Channel | null> {
  // A socket cannot be made there either.
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) return null;
  const socket = connect(path);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    // The socket of a process that was killed refuses connections.
    if (code === "ENOENT" || code === "ECONNREFUSED") return null;
    if (code === "EACCES" || code === "EPERM") {
      throw new TakeoverRefused(
        `${path} may not be opened by this user: run the command as the user of the server`,
      );
    }
    throw failure;
  }
  return new Channel(socket, answer);
}
