// Writes one answer into an event stream: pieces, keep-alives, the end, errors after the status.
import type { KeyWatch } from "../../access/index.ts";
import { type EventStream, watchSilence } from "../../http/index.ts";
import type { Ear, Ending, Failure } from "../../models/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { contain } from "../../platform/contain.ts";
import { CATALOGUE, type Code, Refusal, refuse } from "../../platform/refusal.ts";
import { REVOKED, type Running, STOPPED } from "../running.ts";
import type { Admitted } from "./admit.ts";
import type { ChunkWriter } from "./chunks.ts";
import { blameModel, nameInBand, refuseFailure, writeRefusal } from "./failure.ts";

export interface StreamOptions {
  chunks: ChunkWriter;
  has_usage: boolean;
  clock: Clock;
  running: Running;
  keys: Pick<KeyWatch, "add">;
  status: number;
  onFailure(failure: Failure): void;
  onBug(failure: unknown): void;
}

/**
 * Starts the answer and returns as soon as it is known how to reply: null once the stream has
 * begun, or the failure that came before anything was sent and is an ordinary error
 * (gateway.events.4). The rest goes on by itself.
 */
export function writeStream(
  stream: EventStream,
  admitted: Admitted,
  options: StreamOptions,
): Promise<Failure | null> {
  const { ask, answer, tally } = admitted;
  const { chunks, has_usage, clock } = options;
  const begun = Promise.withResolvers<Failure | null>();
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
  const silence = watchSilence(clock, contain(failLater, keepAlive));
  const send = (json: string) => {
    silence.end();
    return stream.send(json);
  };
  /** `code`: what the caller was told inside the stream. */
  const close = (code: Code | null) => {
    // gateway.events.1
    void send("[DONE]");
    silence.stop();
    stream.close();
    // Who has left was told nothing; else it is the status with which the stream began.
    const status = code === "client_closed_request" ? CATALOGUE[code].status : options.status;
    tally.close(status, code, stream.countSent());
  };
  const tellFailure = (refusal: Refusal) => {
    const told = nameInBand(refusal);
    void send(writeRefusal(told, ask.request_id));
    close(refusal.code === "client_closed_request" ? refusal.code : told.code);
  };
  const finish = (ending: Ending) => {
    tally.end(ending);
    if (!ending.ok) {
      options.onFailure(ending);
      if (!isBegun) return giveUp(() => begun.resolve(ending));
      tellFailure(refuseFailure(ending, admitted));
    } else {
      begin();
      for (const chunk of chunks.finish(ending.finish_reason)) void send(chunk);
      if (has_usage) void send(chunks.usage(ending.usage));
      close(null);
    }
  };
  const fail = (failure: unknown) => {
    // A bug, or a refusal from within: in front of the stream it is the door's to answer.
    if (!isBegun) return giveUp(() => begun.reject(failure));
    if (failure instanceof Refusal) return finish(blameModel(failure));
    options.onBug(failure);
    tellFailure(refuse("upstream_error"));
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
  const hear: Ear = (piece) => {
    if (!isBegun) begin();
    tally.hear();
    return send(chunks.piece(piece));
  };
  // Whoever answers breaks off as for a caller who left; but this one is there, and is told.
  let broken: Failure | null = null;
  const breakOff = (why: Failure) => {
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
