// Probes a model server and writes its settings block.
import { type ProbeReport, probeServer } from "../models/index.ts";
import { createTrustedEgress } from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import { AdminError } from "./errors.ts";
import {
  findWidthFault,
  nameModel,
  writeEmbeddingsBlock,
  writeModelBlock,
} from "./settings-block.ts";

export interface ProbeRequest {
  /** Typed address, with or without `http://` and `/v1`. */
  url: string;
  /** Model of the server (default the first). */
  model: string | undefined;
  /** Id that callers send (default from the model's name). */
  id: string | undefined;
  api_key_env: string | undefined;
  api_key: string | undefined;
}

export interface ProbeResult {
  report: ProbeReport;
  id: string | null;
  block: string | null;
  /** Reason against writing the block into a file. */
  unfit: string | null;
}

const ID = /^[A-Za-z0-9][\w./:@+-]{0,127}$/;
const API_KEY = /^[\x21-\x7e]+$/;

/** Throws when no model server answers. */
export async function probeModel(request: ProbeRequest, clock: Clock): Promise<ProbeResult> {
  const url = readAddress(request.url);
  const { model = null, api_key = null, api_key_env = "" } = request;
  if (request.id !== undefined && !ID.test(request.id)) {
    throw new AdminError("an id is 1 to 128 of A-Z, a-z, 0-9 and . _ / : @ + -");
  }
  // The key goes into a header; the message must not show it.
  if (api_key !== null && !API_KEY.test(api_key)) {
    throw new AdminError(`${api_key_env} holds no key in one line of ASCII`);
  }
  const egress = createTrustedEgress({ clock });
  try {
    const probed = await probeServer({ url, model, api_key, egress, clock });
    if (!probed.ok) throw new AdminError(`${url}: ${probed.says}`);
    const { report } = probed;
    if (report.serves === "embeddings") return await describeEmbeddings(report, request);
    if (report.model === null || report.serves !== "chat") {
      return { report, id: null, block: null, unfit: null };
    }
    const id = request.id ?? nameModel(report.model);
    const block = writeModelBlock(report, { id, model: report.model, apiKeyEnv: api_key_env });
    return { report, id, block, unfit: null };
  } finally {
    egress.close();
  }
}

async function describeEmbeddings(
  report: ProbeReport,
  request: ProbeRequest,
): Promise<ProbeResult> {
  // The gateway is loaded only when it is needed.
  const { DIMENSIONS, MODEL } = await import("../gateway/index.ts");
  if (request.id !== undefined) {
    throw new AdminError(`it serves embeddings, which callers ask as ${MODEL}: leave --id out`);
  }
  const promised = { model: MODEL, dimensions: DIMENSIONS };
  const block = writeEmbeddingsBlock(report, request.api_key_env ?? "", promised);
  return { report, id: null, block, unfit: findWidthFault(report, promised) };
}

/** Accepts a host and port alone. */
function readAddress(typed: string): string {
  const address = /^[a-z]+:\/\//i.test(typed) ? typed : `http://${typed}`;
  const url = URL.parse(address);
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  if (isPlain && /^https?:$/.test(url.protocol) && !/[\s<>"]/.test(address)) {
    return address.replace(/\/+$/, "");
  }
  // Never echo it: it may hold a password.
  throw new AdminError(
    "the address is one of http or https without user, query or fragment, such as " +
      "http://10.0.0.5:8000/v1",
  );
}
