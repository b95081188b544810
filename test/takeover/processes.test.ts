// Tests whether a container would end with this process, by what the system says about it.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canTakeOver } from "../../src/takeover/index.ts";
import { openProcesses } from "../../src/takeover/processes.ts";

const directory = mkdtempSync(join(tmpdir(), "wadi-proc-"));
afterAll(() => rmSync(directory, { recursive: true }));

const MACHINE = "pid:[4026531836]";
const CONTAINER = "pid:[4026532179]";

/** `stat` has the process, its parent, its session, and the parent of the session's leader. */
function pretend(namespace: string, first: string | null, stat: readonly number[]) {
  const proc = mkdtempSync(join(directory, "proc-"));
  mkdirSync(join(proc, "self", "ns"), { recursive: true });
  mkdirSync(join(proc, "1"));
  symlinkSync(namespace, join(proc, "self", "ns", "pid"));
  const [pid, parent, session, above] = stat;
  writeFileSync(join(proc, "self", "stat"), `${pid} (a ) b) S ${parent} ${pid} ${session} 0 -1\n`);
  if (above !== undefined) {
    const leader = join(proc, String(session));
    mkdirSync(leader, { recursive: true });
    writeFileSync(join(leader, "stat"), `${session} (sh) S ${above} ${session} ${session} 0 -1\n`);
  }
  if (first !== null) writeFileSync(join(proc, "1", "comm"), `${first}\n`);
  return openProcesses(proc);
}

test.each([
  ["as the first process", CONTAINER, "wadi", [1, 0, 1, 0]],
  ["below tini", CONTAINER, "tini", [7, 1, 1, 0]],
  ["below dumb-init, which gives it a session", CONTAINER, "dumb-init", [7, 1, 7, 1]],
  ["below a script of the first process", CONTAINER, "docker-init", [9, 7, 1, 0]],
  ["below a script whose session began outside", CONTAINER, "init.sh", [2, 1, 0]],
  ["below a program of that script", CONTAINER, "init.sh", [9, 7, 0]],
  ["below a script with a session of its own", CONTAINER, "sh", [9, 7, 7, 1]],
  ["in a session whose leader has ended", CONTAINER, "tini", [31, 1, 20]],
  ["started later without a session", CONTAINER, "tini", [30, 0, 0]],
  ["that was started later by itself", CONTAINER, "tini", [20, 0, 20, 0]],
  ["in a pod that shares its processes", CONTAINER, "pause", [7, 0, 7, 0]],
  ["below a script in such a pod", CONTAINER, "pause", [9, 7, 7, 0]],
] as const)("a container ends with its server %s", (_, namespace, first, stat) => {
  expect(pretend(namespace, first, stat).endsContainer()).toBeTrue();
});

test.each([
  ["on a machine, also of an unknown first process", MACHINE, "other", [7, 1, 7, 1]],
  ["below systemd in a container", CONTAINER, "systemd", [7, 1, 7, 1]],
  ["started later in a container", CONTAINER, "tini", [30, 20, 20, 0]],
  ["after a takeover in a container", CONTAINER, "tini", [31, 1, 20, 0]],
  ["where the first process is hidden", CONTAINER, null, [7, 1, 7, 1]],
] as const)("nothing ends with a server %s", (_, namespace, first, stat) => {
  expect(pretend(namespace, first, stat).endsContainer()).toBeFalse();
});

test.if(canTakeOver)("the end of a process is that of the ones below it", async () => {
  const script = "sh -c 'echo; exec sleep 1000' & wait";
  const child = Bun.spawn(["sh", "-c", script], { stdout: "pipe" });
  const reader = child.stdout.getReader();
  await reader.read();
  openProcesses().kill(child.pid);
  await child.exited;
  // The output ends with the last process that has it open.
  expect((await reader.read()).done).toBeTrue();
});

test("a system without these files is asked nothing", () => {
  const processes = openProcesses(join(directory, "nowhere"));
  expect(processes.namespace).toBeNull();
  expect(processes.endsContainer()).toBeFalse();
});
