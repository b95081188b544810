// Faults of disk and clock for one process, by a library preloaded before the C library.
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeScratch } from "../bench/stage.ts";

/**
 * While the file named by WADI_FAULT_DISK exists, writes to `wadi.db` and its companion files fail.
 * WADI_FAULT_CLOCK_S moves the wall clock, and not the monotonic one.
 */
const SOURCE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int is_full(int fd) {
  const char *flag = getenv("WADI_FAULT_DISK");
  if (!flag || access(flag, F_OK) != 0) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, "/wadi.db") != NULL;
}

#define FULL(fd) if (is_full(fd)) { errno = ENOSPC; return -1; }
#define NEXT(name) static __typeof__(name) *next; if (!next) next = dlsym(RTLD_NEXT, #name)

ssize_t pwrite(int fd, const void *from, size_t size, off_t at) {
  NEXT(pwrite); FULL(fd); return next(fd, from, size, at);
}
ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at) {
  NEXT(pwrite64); FULL(fd); return next(fd, from, size, at);
}
ssize_t write(int fd, const void *from, size_t size) {
  NEXT(write); FULL(fd); return next(fd, from, size);
}

static long shift_s(void) {
  const char *text = getenv("WADI_FAULT_CLOCK_S");
  return text ? atol(text) : 0;
}
int clock_gettime(clockid_t clock, struct timespec *at) {
  NEXT(clock_gettime);
  int result = next(clock, at);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    at->tv_sec += shift_s();
  }
  return result;
}
int gettimeofday(struct timeval *at, void *zone) {
  NEXT(gettimeofday);
  int result = next(at, zone);
  if (result == 0 && at) at->tv_sec += shift_s();
  return result;
}
time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
`;

export interface FaultShim {
  /** Environment of a process with a full disk or a shifted clock. */
  env(clock_ahead_s?: number): Record<string, string>;
  fillDisk(): void;
  freeDisk(): void;
}

/** Path of the library; null without a compiler or preloading. */
export const buildFaultShim = async (): Promise<FaultShim | null> => {
  const compiler = Bun.which("cc");
  if (process.platform !== "linux" || compiler === null) return null;
  const directory = makeScratch();
  const [source, library, flag] = ["fault.c", "fault.so", "disk-is-full"].map((name) =>
    join(directory, name),
  );
  writeFileSync(source!, SOURCE);
  const command = [compiler, "-shared", "-fPIC", "-O2", "-o", library!, source!, "-ldl"];
  const built = Bun.spawnSync(command, { stderr: "pipe" });
  if (built.exitCode !== 0 || !existsSync(library!)) return null;
  return {
    env: (clock_ahead_s = 0) => ({
      LD_PRELOAD: library!,
      WADI_FAULT_DISK: flag!,
      WADI_FAULT_CLOCK_S: String(clock_ahead_s),
    }),
    fillDisk: () => writeFileSync(flag!, ""),
    freeDisk: () => rmSync(flag!, { force: true }),
  };
};
