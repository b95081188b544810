// Tests upgrades with programs that do not become servers.
import { afterAll, expect, test } from "bun:test";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openControl } from "../../src/cli/control.ts";
import { createLiveReader } from "../../src/cli/live.ts";
import { yieldToEventLoop } from "../../src/platform/clock.ts";
import { createLog } from "../../src/platform/log.ts";
import {
  canTakeOver,
  connectToControl,
  type Handover,
  Predecessor,
} from "../../src/takeover/index.ts";
import { createManualClock } from "../support/clock.ts";

const directory = mkdtempSync(join(tmpdir(), "wadi-control-"));
afterAll(() => rmSync(directory, { recursive: true }));

const put = (name: string, text: string) => {
  const file = join(directory, name);
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
};

const PARTS = {
  ...{ epoch: 7, installation: "i", addresses: [], spare() {} },
} as unknown as Handover;

async function startControl(cancelEnd = () => false) {
  const clock = createManualClock();
  const waits = Promise.withResolvers<number>();
  const after = (delay_ms: number, run: () => void) => {
    waits.resolve(delay_ms);
    return clock.after(delay_ms, run);
  };
  const file = join(directory, "control.sock");
  const control = await openControl({
    ...{
      file,
      clock: { ...clock, after },
      predecessor: null,
      log: createLog(clock, () => {}, false),
    },
    handover: PARTS,
    onReplaced: () => cancelEnd,
    readLive: async (run_id) => ({ round: 1, text: `of ${run_id}` }),
  });
  const channel = (await connectToControl(file, async () => null))!;
  return {
    file,
    clock,
    control,
    channel,
    waits: waits.promise,
    upgrade: (program: string) => channel.request("upgrade", { program }),
  };
}

test.if(canTakeOver)("an upgrade ends a program that never makes contact", async () => {
  const { clock, waits, upgrade } = await startControl();
  const upgraded = upgrade(put("hangs", "#!/bin/sh\nexec sleep 1000\n"));
  const refusal = upgraded.catch(({ message }) => message);
  await clock.advance(await waits);
  expect(await refusal).toContain("it hung and was ended");
});

test.if(canTakeOver)("an upgrade ends a program below a script that waits for it", async () => {
  const { clock, waits, upgrade } = await startControl();
  const pipe = join(directory, "pipe");
  Bun.spawnSync(["mkfifo", pipe]);
  const reader = Bun.spawn(["cat", pipe], { stdout: "pipe" }).stdout.getReader();
  const script = `#!/bin/sh\nsh -c 'echo; exec sleep 1000' > ${pipe} &\nwait\n`;
  const upgraded = upgrade(put("waits", script));
  const refusal = upgraded.catch(({ message }) => message);
  await reader.read();
  await clock.advance(await waits);
  expect(await refusal).toContain("it hung and was ended");
  // The pipe ends with the last process that has it open.
  expect((await reader.read()).done).toBeTrue();
});

test.if(canTakeOver).each([
  ["nothing", "there is no program at"],
  [put("text", "no program"), "is no program that this machine can run"],
])("an upgrade to %p says what is wrong", async (program, says) => {
  const { upgrade } = await startControl();
  const refusal = await upgrade(program).catch(({ message }) => message);
  expect(refusal).toContain(says);
});

test.if(canTakeOver)("a process whose upgrade is over may not take over any more", async () => {
  const { file, clock } = await startControl();
  const late = Predecessor.begin(file, { version: "2", token: "gone", clock });
  expect(await late.catch(({ message }) => message)).toContain("has ended");
});

test.if(canTakeOver)("a server that goes on after a takeover puts its socket back", async () => {
  const { file, clock } = await startControl(() => true);
  const predecessor = (await Predecessor.begin(file, { version: "2", token: null, clock }))!;
  await predecessor.ready();
  // The socket of the new process, which has ended.
  rmSync(file);
  await predecessor.failed("");
  let channel = await connectToControl(file, async () => null);
  while (!channel) {
    await yieldToEventLoop();
    channel = await connectToControl(file, async () => null);
  }
  expect(await channel.request("ping")).toBeNull();
});

test.if(canTakeOver)(
  "an upgrade starts nothing before its command has said that it waits",
  async () => {
    const { file, clock } = await startControl();
    const gone = connect(file);
    const upgrade = { id: 1, method: "upgrade", params: { program: "nothing" } };
    gone.write(`${JSON.stringify(upgrade)}\n`);
    expect(String((await once(gone, "data"))[0])).toContain('"method":"present"');
    gone.destroy();
    const other = (await connectToControl(file, async () => null))!;
    await other.requireAnswer(clock);
    expect(clock.pending()).toBe(0);
  },
);

test.if(canTakeOver)("a socket that was removed is put back, and only then", async () => {
  const { file, control } = await startControl();
  const first = statSync(file).ino;
  await control.renew();
  expect(statSync(file).ino).toBe(first);
  const aside = `${file}.aside`;
  renameSync(file, aside);
  await control.renew();
  const channel = (await connectToControl(file, async () => null))!;
  expect(await channel.request("ping")).toBeNull();
  // The server listens at one socket only.
  expect(await connectToControl(aside, async () => null)).toBeNull();
  control.close();
  expect(existsSync(file)).toBeFalse();
  expect(await connectToControl(file, async () => null)).toBeNull();
});

test.if(canTakeOver)("a new process is told to take over, and may say why it cannot", async () => {
  const { channel, clock, upgrade } = await startControl();
  const pipe = join(directory, "told");
  Bun.spawnSync(["mkfifo", pipe]);
  const say = `echo "$WADI_UPGRADE|$WATCHDOG_PID|$*" > ${pipe}`;
  const program = put("reports", `#!/bin/sh\n${say}\nread line < ${pipe}\nexit 3\n`);
  process.env.WATCHDOG_PID = "7";
  const explain = async (reason: string | null) => {
    const refusal = upgrade(program).catch(({ message }) => message);
    const told = await Bun.spawn(["cat", pipe], { stdout: "pipe" }).stdout.text();
    const [origin, watchdog, args] = told.trimEnd().split("|");
    const [, token, file] = /^(\w+):(.+)$/.exec(origin!) ?? [];
    if (reason !== null) await channel.request("report", { token, reason });
    // The program that it starts makes contact, and would go on alone.
    const below = (await connectToControl(file!, async () => null))!;
    await below.request("begin", { pid: 7, namespace: null, version: "2", token });
    await Bun.spawn(["sh", "-c", `echo > ${pipe}`]).exited;
    const sentence = await refusal;
    const late = Predecessor.begin(file!, { version: "2", token: token!, clock });
    expect(await late.catch(({ message }) => message)).toContain("has ended");
    expect([file, watchdog]).toEqual([join(directory, "control.sock"), ""]);
    expect(args!.split(" ").filter((arg) => arg === "--takeover")).toHaveLength(1);
    return sentence;
  };
  const sentence = "the new process did not start, and the old one still serves: ";
  expect(await explain(null)).toBe(`${sentence}it ended with exit code 3`);
  expect(await explain("its settings are wrong")).toBe(`${sentence}its settings are wrong`);
  delete process.env.WATCHDOG_PID;
});

test("a process keeps the token of its upgrade from its children", () => {
  const script = `
    const { ORIGIN } = await import("${import.meta.dir}/../../src/cli/upgrade-origin.ts");
    console.log(ORIGIN.token, ORIGIN.file, process.env.WADI_UPGRADE);`;
  const { stdout } = Bun.spawnSync([process.execPath, "-e", script], {
    env: { WADI_UPGRADE: "abc:/run/a:b.sock" },
  });
  expect(stdout.toString()).toBe("abc /run/a:b.sock undefined\n");
});

test.if(canTakeOver)("a command on the same data asks what the model of a run writes", async () => {
  const { control, file } = await startControl();
  const live = createLiveReader(directory);
  const { read } = live;
  expect(await read("r")).toEqual({ round: 1, text: "of r" } as never);
  live.close();
  control.close();
  expect(file).toStartWith(directory);
  const none = createLiveReader(join(directory, "none"));
  expect(await none.read("r")).toBeUndefined();
});
