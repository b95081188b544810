// PyPI's `opentelemetry-proto` as the judge of OTLP's JSON, by the Python of WADI_TEST_PYTHON.
import { join } from "node:path";
import type { Collected } from "./collector.ts";
import { hasPython, PYTHON } from "./python.ts";

const MODULE = "opentelemetry.proto.collector.trace.v1.trace_service_pb2";
export const hasJudge = hasPython(["-c", `import ${MODULE}`], "opentelemetry-proto");

export interface JudgedSpan {
  service: string;
  trace: string;
  span: string;
  parent: string;
  name: string;
  kind: number;
  error: boolean;
  attributes: Record<string, unknown>;
}

export interface JudgedMetric {
  name: string;
  kind: "gauge" | "sum" | "histogram";
  points: { attributes: Record<string, string>; value: unknown }[];
}

export async function judgeRequests(requests: readonly Collected[]) {
  const lines = requests.map(({ path, text }) => JSON.stringify({ path, text }));
  const child = Bun.spawn([PYTHON, join(import.meta.dir, "../telemetry/judge.py")], {
    stdin: new Blob([lines.join("\n")]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, problem] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(problem);
  return JSON.parse(out) as { spans: JudgedSpan[]; metrics: JudgedMetric[] };
}
