// Asks a model server what it is, for people who want it in their settings.
import { probeServer, type Report } from "../models/index.ts";
import type { Clock } from "../platform/clock.ts";
import { createTrustedEgress } from "../platform/egress/index.ts";
import { judgeWidth, writeEmbeddingsBlock } from "./embeddings-block.ts";
import { nameModel, writeBlock } from "./model-block.ts";
import { OperatorProblem } from "./problem.ts";

export interface ProbeWish {
  /** As it was typed: with or without `http://`, with or without `/v1`. */
  url: string;
  /** The name of one of its models; undefined: the first. */
  model: string | undefined;
  /** What callers will send; undefined: a name made from the model's. */
  id: string | undefined;
  /** The variable that holds its key; undefined: it needs none. */
  api_key_env: string | undefined;
  api_key: string | undefined;
}

export interface ProbeResult {
  report: Report;
  /** null: what callers send is fixed, or what it serves, this version does not. */
  id: string | null;
  block: string | null;
  /** Why the block is not to be written into a file; null: it may be. */
  unfit: string | null;
}

const ID = /^[A-Za-z0-9][\w./:@+-]{0,127}$/;
const API_KEY = /^[\x21-\x7e]+$/;

/** Throws an OperatorProblem where no model server answers. */
export async function probeModel(wish: ProbeWish, clock: Clock): Promise<ProbeResult> {
  const url = readAddress(wish.url);
  const { model = null, api_key = null, api_key_env = "" } = wish;
  if (wish.id !== undefined && !ID.test(wish.id)) {
    throw new OperatorProblem("an id is 1 to 128 of A-Z, a-z, 0-9 and . _ / : @ + -");
  }
  // It goes into a header; the message must not show it.
  if (api_key !== null && !API_KEY.test(api_key)) {
    throw new OperatorProblem(`${api_key_env} holds no key in one line of ASCII`);
  }
  const egress = createTrustedEgress({ clock });
  try {
    const probed = await probeServer({ url, model, api_key, egress, clock });
    if (!probed.ok) throw new OperatorProblem(`${url}: ${probed.says}`);
    const { report } = probed;
    if (report.serves === "embeddings") return await describeEmbeddings(report, wish);
    if (report.model === null || report.serves !== "chat") {
      return { report, id: null, block: null, unfit: null };
    }
    const id = wish.id ?? nameModel(report.model);
    const block = writeBlock(report, { id, model: report.model, api_key_env });
    return { report, id, block, unfit: null };
  } finally {
    egress.close();
  }
}

async function describeEmbeddings(report: Report, wish: ProbeWish): Promise<ProbeResult> {
  // The gateway brings a whole server along, which no other probe needs.
  const { DIMENSIONS, MODEL } = await import("../gateway/index.ts");
  if (wish.id !== undefined) {
    throw new OperatorProblem(
      `it serves embeddings, which callers ask as ${MODEL}: leave --id out`,
    );
  }
  const promised = { model: MODEL, dimensions: DIMENSIONS };
  const block = writeEmbeddingsBlock(report, wish.api_key_env ?? "", promised);
  return { report, id: null, block, unfit: judgeWidth(report, promised) };
}

/** People type a host and a port. */
function readAddress(typed: string): string {
  const address = /^[a-z]+:\/\//i.test(typed) ? typed : `http://${typed}`;
  const url = URL.parse(address);
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  if (isPlain && /^https?:$/.test(url.protocol) && !/[\s<>"]/.test(address)) {
    return address.replace(/\/+$/, "");
  }
  // It may hold a password: it is not said again.
  throw new OperatorProblem(
    "the address is one of http or https without user, query or fragment, such as " +
      "http://10.0.0.5:8000/v1",
  );
}
