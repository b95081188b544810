// One request of the command line to a server that the operator named.
import { parseJson } from "../platform/json.ts";

export interface JsonRequest {
  method: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  timeoutMs: number;
}

export interface JsonReply {
  isGood: boolean;
  status: number;
  /** The parsed body; undefined where it is no JSON. */
  value: unknown;
}

/** Throws an error with a sentence where no reply arrives. */
export async function requestJson(url: string, request: JsonRequest): Promise<JsonReply> {
  const { method, headers, body, timeoutMs } = request;
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    // A redirect could carry the token elsewhere.
    const response = await fetch(url, { method, headers, body, redirect: "error", signal });
    const value = parseJson(await response.text());
    return { isGood: response.ok, status: response.status, value };
  } catch (failure) {
    const { name, message } = failure as Error;
    throw new Error(name === "TimeoutError" ? `no answer in ${timeoutMs / 1000} s` : message);
  }
}
