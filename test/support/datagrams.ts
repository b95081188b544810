// A datagram socket like that of systemd, which collects what services tell it; Linux only.
import { expect } from "bun:test";
import { openLibc } from "../../src/platform/libc.ts";

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const MSG_DONTWAIT = 0x40;

const libc = openLibc({
  socket: { args: ["i32", "i32", "i32"], returns: "i32" },
  bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
  recv: { args: ["i32", "ptr", "u64", "i32"], returns: "i64" },
  close: { args: ["i32"], returns: "i32" },
});

export const hasDatagrams = libc !== null;

export interface Datagrams {
  /** Texts that have arrived since the last call. */
  read(): string[];
  close(): void;
}

/** Listens at a name; "@" begins an abstract one. */
export function listenForDatagrams(name: string): Datagrams {
  const path = Buffer.from(name.startsWith("@") ? `\0${name.slice(1)}` : `${name}\0`);
  const address = Buffer.concat([Buffer.from([AF_UNIX, 0]), path]);
  const descriptor = libc!.socket(AF_UNIX, SOCK_DGRAM, 0);
  expect(libc!.bind(descriptor, address, address.length)).toBe(0);
  return {
    close: () => void libc!.close(descriptor),
    read() {
      const texts: string[] = [];
      const bytes = Buffer.alloc(256);
      for (;;) {
        const length = Number(libc!.recv(descriptor, bytes, bytes.length, MSG_DONTWAIT));
        if (length < 0) return texts;
        texts.push(bytes.toString("utf8", 0, length));
      }
    },
  };
}
