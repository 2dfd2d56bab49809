import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope, RollupConfig } from "@rnode/protocol";
import { decodeRequest, REQUEST_BYTES, RESULT } from "../wire/payload-by-number.ts";
import { Answers } from "./answers.ts";
import { within } from "./deadline.ts";
import { Permits } from "./permits.ts";
import { RequestLimits } from "./request-limits.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import type { WireStream } from "./wire-stream.ts";

export interface PayloadServerDeps {
  readonly config: RollupConfig;
  /** @returns `undefined`: this node does not have the block. @throws if the engine is not available */
  readonly payloadByNumber: (number: number) => Promise<ExecutionPayloadEnvelope | undefined>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: RequestMetrics;
}

/** For a request from its beginning to the first byte of the answer, waiting for its turn included. */
const BUDGET_MS = 20_000;
const READ_MS = 10_000;
const WRITE_MS = 10_000;
/** More than the burst of a peer, whose requests need not wait. */
export const MAX_STREAMS_OF_PEER = 16;
const MAX_STREAMS = 256;
/** of answers that are being sent, whether their readers are slow or not: in all, and to one peer */
const MAX_SENDING_BYTES = 64 * 1024 * 1024;
const MAX_SENDING_BYTES_OF_PEER = 16 * 1024 * 1024;

interface Outcome {
  readonly code: number;
  /** the requested block; 0: the request was not read */
  readonly number: number;
}

interface Peer {
  streams: number;
  readonly sending: Permits;
}

/**
 * Answers requests for blocks by number. Its memory is bounded by the number of streams and the bytes of pending answers; the
 * rate limits also bound the requests to the engine.
 *
 * Spec: docs/protocol/03-p2p.md#request-response-payload-by-number
 */
export class PayloadServer {
  private readonly deps: PayloadServerDeps;
  private readonly limits: RequestLimits;
  private readonly answers: Answers;
  private readonly sending = new Permits(MAX_SENDING_BYTES);
  private readonly peers = new Map<string, Peer>();
  private readonly open = new Set<WireStream>();
  private readonly closing = new AbortController();

  constructor(deps: PayloadServerDeps) {
    this.deps = deps;
    this.limits = new RequestLimits(deps.clock);
    this.answers = new Answers(deps);
  }

  /** Never rejects: whatever a peer does ends with its stream. */
  async handle(stream: WireStream, peerId: string): Promise<void> {
    const { clock, log, metrics } = this.deps;
    const peer = this.peers.get(peerId) ?? { streams: 0, sending: new Permits(MAX_SENDING_BYTES_OF_PEER) };
    if (this.closing.signal.aborted || peer.streams >= MAX_STREAMS_OF_PEER || this.open.size >= MAX_STREAMS) {
      metrics.refused();
      stream.reset("too many requests at a time");
      return;
    }
    this.peers.set(peerId, peer);
    peer.streams++;
    this.open.add(stream);
    const startMs = clock.monotonicMs();
    try {
      const { number, code } = await this.serve(stream, peerId, peer);
      metrics.served(number, code, clock.monotonicMs() - startMs);
    } catch (error) {
      log.debug("cannot answer a request for a block", { peer: peerId, reason: String(error) });
      metrics.cut();
      stream.reset("the peer does not read, or is gone");
    } finally {
      this.open.delete(stream);
      peer.streams--;
      if (peer.streams === 0) this.peers.delete(peerId);
    }
  }

  close(): void {
    this.closing.abort();
    for (const stream of this.open) stream.reset("the node is closing");
  }

  private async serve(stream: WireStream, peerId: string, peer: Peer): Promise<Outcome> {
    const releases: (() => void)[] = [];
    /** Waits without a time limit while nothing of the answer is in memory. */
    const reserve = async (bytes: number, signal: AbortSignal): Promise<boolean> => {
      for (const permits of [peer.sending, this.sending]) {
        const release = await permits.acquire(bytes, signal);
        if (release === undefined) return false;
        releases.push(release);
      }
      return true;
    };
    try {
      // the answer is given even when the time for it is over, the stream being still there
      const { bytes, ...outcome } = await within(this.deps.clock, BUDGET_MS, stream.gone, (signal) =>
        this.answer(stream, peerId, reserve, signal),
      );
      await within(this.deps.clock, WRITE_MS, stream.gone, async (signal) => {
        await stream.write(bytes, signal);
        await stream.closeWrite(signal);
      });
      return outcome;
    } finally {
      for (const release of releases) release();
    }
  }

  private async answer(
    stream: WireStream,
    peerId: string,
    reserve: (bytes: number, signal: AbortSignal) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<Outcome & { readonly bytes: Uint8Array }> {
    let number = 0;
    const only = (code: number) => ({ bytes: Uint8Array.of(code), code, number });
    try {
      if (!(await this.limits.pass(peerId, signal))) return only(RESULT.other);
      number = await this.readNumber(stream, signal);
      if (!this.isPossible(number)) return only(RESULT.invalid);
      const sizeBytes = (await unlessAborted(this.answers.of(number), signal))?.length;
      if (sizeBytes === undefined) return only(signal.aborted ? RESULT.other : RESULT.notFound);
      if (!(await reserve(sizeBytes, signal))) return only(RESULT.other);
      const bytes = await unlessAborted(this.answers.of(number), signal);
      return bytes === undefined ? only(RESULT.other) : { bytes, code: RESULT.success, number };
    } catch (error) {
      if (!stream.gone.aborted) this.deps.log.debug("cannot serve a block", { peer: peerId, number, reason: String(error) });
      return only(RESULT.other);
    }
  }

  /** Bytes after the number are not read. @throws {StreamEnded} also if the peer sends less */
  private async readNumber(stream: WireStream, signal: AbortSignal): Promise<number> {
    const request = new Uint8Array(REQUEST_BYTES);
    let filled = 0;
    await within(this.deps.clock, READ_MS, signal, (reading) =>
      stream.read((chunk) => {
        const taken = chunk.subarray(0, REQUEST_BYTES - filled);
        request.set(taken, filled);
        filled += taken.length;
        return filled < REQUEST_BYTES;
      }, reading),
    );
    if (filled < REQUEST_BYTES) throw new Error(`the request has ${filled} bytes instead of ${REQUEST_BYTES}`);
    return decodeRequest(request);
  }

  /** From genesis to the block that is due by now. */
  private isPossible(number: number): boolean {
    const { genesis, blockTimeSec } = this.deps.config;
    const sinceGenesisSec = Math.floor(this.deps.clock.unixMs() / 1_000) - genesis.l2TimeSec;
    return number >= genesis.l2.number && number <= genesis.l2.number + Math.floor(sinceGenesisSec / blockTimeSec);
  }
}

/** @returns `undefined`: the signal was aborted first */
function unlessAborted<T>(task: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve(undefined);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    task.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
