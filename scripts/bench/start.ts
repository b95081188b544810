// From exec to the first answer, and the memory that the program holds after it.
import { readFileSync, rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { type Report, readRssMb, type Spread, spreadOf, writeSpread } from "./measure.ts";
import { buildBare, type Child, findFreePort, launch, makeScratch, readUntil } from "./stage.ts";

/** A round is five starts of each candidate. */
const STARTS = 5;
/** How long a start may take before the bench gives up. */
const PATIENCE_MS = 10_000;
const POLL_MS = 0.5;
/** Wait after the first answer before the memory is read. */
const IDLE_MS = 300;

interface Candidate {
  name: string;
  command(port: number): string[];
  /** Before each start, outside of what is measured. */
  prepare?(): void;
  /** Key of the first chat; without one only a plain GET is sent. */
  key?: (child: Child) => Promise<string> | string;
}

interface Started {
  /** Milliseconds from exec to the first 200 of GET /healthz, and to the first 201 of a chat. */
  health_ms: number;
  chat_ms: number;
  rss_mb: number;
}

export const benchStart = async (rounds: number, programs: readonly string[]): Promise<Report> => {
  const scratch = makeScratch();
  const bare = await buildBare(scratch);
  const candidates: Candidate[] = [
    { name: "bare, a hello", command: () => [bare] },
    ...programs.flatMap((program, at) => listCandidates(program, scratch, at)),
  ];
  const results = new Map<Candidate, Started[]>(candidates.map((one) => [one, []]));
  for (let turn = 0; turn < rounds * STARTS; turn++) {
    for (const [candidate, started] of results) started.push(await startOnce(candidate));
  }
  const rows = [...results].map(([{ name, key }, started]) => {
    const cell = (field: keyof Started) => writeSpread(spreadOf(started.map((one) => one[field])));
    return [name, cell("health_ms"), key ? cell("chat_ms") : "-", cell("rss_mb")];
  });
  const columns = ["", "GET /healthz, ms", "chat on the stub, ms", "idle RSS, MB"];
  const figures = [...results]
    .slice(1)
    .flatMap(([{ name }, started]) => [
      compareToGoal(
        `${name}: exec to the first chat`,
        "ms",
        spreadOf(started.map((s) => s.chat_ms)),
        80,
      ),
      compareToGoal(`${name}: idle memory`, "MB", spreadOf(started.map((s) => s.rss_mb)), 80),
    ]);
  return {
    tables: [{ title: `start, ${rounds * STARTS} of each in turn`, columns, rows }],
    figures,
    notes: [],
    data: [...results].map(([{ name }, started]) => ({ name, started })),
  };
};

const compareToGoal = (what: string, unit: string, spread: Spread, goal: number) => ({
  what,
  spread,
  unit,
  goal: `≤ ${goal}`,
  isMet: spread.median <= goal,
});

const listCandidates = (program: string, scratch: string, at: number): Candidate[] => {
  const mark = at === 0 ? "" : ` (build ${at + 1})`;
  const fresh = join(scratch, `fresh-${at}`);
  const kept = join(scratch, `kept-${at}`);
  const serve = (data: string) => (port: number) => [
    ...[program, "serve", "--port", String(port), "--json", "--data", data],
  ];
  // Builds before 0.1.0's key file print the key itself.
  const readKey = async (child: Child) => {
    const found = await readUntil(child, /"(?:keys":\["|key_file":")([^"]+)"/);
    return isAbsolute(found) ? readFileSync(found, "utf8").trim() : found;
  };
  let kept_key: string | undefined;
  return [
    {
      name: `wadi dev${mark}`,
      command: (port) => [program, "dev", "--port", String(port)],
      key: () => "svc_sk_dev",
    },
    {
      name: `wadi serve, first start${mark}`,
      command: serve(fresh),
      prepare: () => rmSync(fresh, { recursive: true, force: true }),
      key: readKey,
    },
    {
      name: `wadi serve, later start${mark}`,
      command: serve(kept),
      async key(child) {
        kept_key ??= await readKey(child);
        return kept_key;
      },
    },
  ];
};

const startOnce = async (candidate: Candidate): Promise<Started> => {
  candidate.prepare?.();
  const port = await findFreePort();
  const started_at = performance.now();
  const child = launch(candidate.command(port), { PORT: String(port) });
  const health = "GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
  while ((await ask(port, health)) !== 200) {
    if (performance.now() - started_at > PATIENCE_MS) throw new Error(`no ${candidate.name}`);
    await Bun.sleep(POLL_MS);
  }
  const health_ms = performance.now() - started_at;
  let chat_ms = Number.NaN;
  if (candidate.key) {
    const status = await ask(port, writeChat(await candidate.key(child)));
    if (status !== 201) throw new Error(`a chat was answered with ${status}`);
    chat_ms = performance.now() - started_at;
  }
  await Bun.sleep(IDLE_MS);
  const rss_mb = readRssMb(child.pid);
  child.kill("SIGTERM");
  await child.exited;
  return { health_ms, chat_ms, rss_mb };
};

const writeChat = (key: string): string => {
  const body = '{"messages":[{"role":"user","content":"Hello"}]}';
  const head = `host: 127.0.0.1\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}`;
  return `POST /v1/chat/completions HTTP/1.1\r\n${head}\r\n\r\n${body}`;
};

/** One request on a connection of its own; the status, or 0 before the server listens. */
const ask = async (port: number, request: string): Promise<number> => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const opening = Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: (socket) => void socket.write(request),
      data(socket, bytes) {
        resolve(Number(bytes.toString("latin1", 9, 12)));
        socket.end();
      },
      close: () => resolve(0),
    },
  });
  opening.catch(() => resolve(0));
  return promise;
};
