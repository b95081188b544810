// Writes one answer into an event stream: pieces, keep-alives, the end, errors after the status.
import type { KeyRevocations } from "../../access/index.ts";
import { type EventStream, watchIdle } from "../../http/index.ts";
import type { Completion, OnChunk, UpstreamError } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { guardCallback } from "../../platform/error-boundary.ts";
import { ApiError, apiError, ERROR_CODES, type ErrorCode } from "../../platform/errors.ts";
import { type InFlight, REVOKED, STOPPED } from "../in-flight.ts";
import type { AdmittedChat } from "./admit.ts";
import type { ChunkWriter } from "./chunks.ts";
import { blameModel, errorOfCompletion, nameInBand, writeRefusal } from "./failure.ts";

export interface StreamOptions {
  chunks: ChunkWriter;
  hasUsage: boolean;
  clock: Clock;
  running: InFlight;
  keys: Pick<KeyRevocations, "add">;
  status: number;
  onFailure(failure: UpstreamError): void;
  onBug(failure: unknown): void;
}

/**
 * Starts the answer and returns as soon as it is known how to reply: null once the stream has
 * begun, or the failure that came before anything was sent and is an ordinary error
 * (gateway.events.4). The rest goes on by itself.
 */
export function writeStream(
  stream: EventStream,
  admitted: AdmittedChat,
  options: StreamOptions,
): Promise<UpstreamError | null> {
  const { request: ask, answer, recorder } = admitted;
  const { chunks, hasUsage, clock } = options;
  const begun = Promise.withResolvers<UpstreamError | null>();
  let isBegun = false;
  const begin = () => {
    isBegun = true;
    begun.resolve(null);
  };
  // gateway.events.2, gateway.limits.keep_alive
  const keepAlive = () => {
    begin();
    stream.comment("keep-alive");
  };
  const failLater = (bug: unknown) => giveIn(bug);
  const silence = watchIdle(clock, guardCallback(failLater, keepAlive));
  const send = (json: string) => {
    silence.end();
    return stream.send(json);
  };
  /** `code`: what the caller was told inside the stream. */
  const close = (code: ErrorCode | null) => {
    // gateway.events.1
    void send("[DONE]");
    silence.stop();
    stream.close();
    // Who has left was told nothing; else it is the status with which the stream began.
    const status = code === "client_closed_request" ? ERROR_CODES[code].status : options.status;
    recorder.close(status, code, stream.countSent());
  };
  const tellFailure = (refusal: ApiError) => {
    const told = nameInBand(refusal);
    void send(writeRefusal(told, ask.request_id));
    close(refusal.code === "client_closed_request" ? refusal.code : told.code);
  };
  const finish = (ending: Completion) => {
    recorder.setResult(ending);
    if (!ending.ok) {
      options.onFailure(ending);
      if (!isBegun) return giveUp(() => begun.resolve(ending));
      tellFailure(errorOfCompletion(ending, admitted));
    } else {
      begin();
      for (const chunk of chunks.finish(ending.finishReason)) void send(chunk);
      if (hasUsage) void send(chunks.usage(ending.usage));
      close(null);
    }
  };
  const fail = (failure: unknown) => {
    // A bug, or a refusal from within: in front of the stream it is the door's to answer.
    if (!isBegun) return giveUp(() => begun.reject(failure));
    if (failure instanceof ApiError) return finish(blameModel(failure));
    options.onBug(failure);
    tellFailure(apiError("upstream_error"));
  };
  const giveUp = (tell: () => void) => {
    silence.stop();
    stream.close();
    tell();
  };
  /** A bug in telling the end, behind which nothing more can be told. */
  const giveIn = (bug: unknown) => {
    if (isBegun) options.onBug(bug);
    giveUp(() => begun.reject(bug));
  };
  const hear: OnChunk = (piece) => {
    if (!isBegun) begin();
    recorder.markFirstChunk();
    return send(chunks.piece(piece));
  };
  // Whoever answers breaks off as for a caller who left; but this one is there, and is told.
  let broken: UpstreamError | null = null;
  const breakOff = (why: UpstreamError) => {
    broken ??= why;
    stream.breakOff();
  };
  const leave = options.running.enter(() => breakOff(STOPPED));
  const forget = options.keys.add(admitted.caller.key_id, () => breakOff(REVOKED));
  const work = async () => {
    const ending = await answer(ask, hear, stream.left);
    const isCut = broken && !ending.ok && ending.code === "client_closed_request";
    return isCut ? { ...ending, ...broken } : ending;
  };
  work().finally(leave).finally(forget).then(finish).catch(fail).catch(giveIn);
  return begun.promise;
}
