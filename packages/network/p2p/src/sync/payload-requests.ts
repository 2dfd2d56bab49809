import type { Clock } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import { encodeRequest, ResponseDecoder } from "../wire/payload-by-number.ts";
import { CheckedPayload } from "./checked-payload.ts";
import { within } from "./deadline.ts";
import { MemoryBudget } from "./memory-budget.ts";
import { StreamEnded, type WireStream } from "./wire-stream.ts";

export type Answer =
  | { readonly kind: "block"; readonly block: CheckedPayload }
  /** the first byte of the answer */
  | { readonly kind: "refused"; readonly code: number };

export interface PayloadRequestsDeps {
  readonly config: RollupConfig;
  /** Opens a stream of the protocol to a peer that is connected. @throws */
  readonly open: (peer: string, signal: AbortSignal) => Promise<WireStream>;
  readonly clock: Clock;
}

const OPEN_MS = 5_000;
const WRITE_MS = 10_000;
const READ_MS = 10_000;
const LINGER_MS = 500;
/** of all answers that are being read */
const MAX_READING_BYTES = 48 * 1024 * 1024;

/** Requests a block from a peer. Spec: docs/protocol/03-p2p.md#request-response-payload-by-number */
export class PayloadRequests {
  private readonly deps: PayloadRequestsDeps;
  readonly memory = new MemoryBudget(MAX_READING_BYTES);

  constructor(deps: PayloadRequestsDeps) {
    this.deps = deps;
  }

  /** @throws {AnswerError} a wrong block. @throws {WireError} a wrong format. @throws {StreamEnded} and errors of `open` */
  async ask(peer: string, number: number, signal: AbortSignal): Promise<Answer> {
    const { clock, open } = this.deps;
    const stream = await within(clock, OPEN_MS, signal, (opening) => open(peer, opening));
    try {
      await within(clock, WRITE_MS, signal, async (writing) => {
        await stream.write(encodeRequest(number), writing);
        await stream.closeWrite(writing);
      });
      return await within(clock, READ_MS, signal, (reading) => this.read(stream, number, reading));
    } finally {
      if (!stream.gone.aborted) stream.reset("the answer is no longer wanted");
    }
  }

  private async read(stream: WireStream, number: number, signal: AbortSignal): Promise<Answer> {
    const decoder = new ResponseDecoder(this.deps.config, number);
    const tooMuch = new AbortController();
    const giveUp = (): void => stream.reset("too much is being read at the moment");
    tooMuch.signal.addEventListener("abort", giveUp, { once: true });
    try {
      await stream.read((chunk) => {
        decoder.push(chunk);
        this.memory.hold(tooMuch, decoder.heldBytes);
        return decoder.refusal === undefined;
      }, signal);
      if (tooMuch.signal.aborted) throw new StreamEnded("too much is being read at the moment");
      const { refusal } = decoder;
      if (refusal !== undefined) {
        // that the peer closes the stream is nicer than a reset, and not worth waiting long for
        await within(this.deps.clock, LINGER_MS, signal, (left) => stream.read(() => true, left)).catch(() => {});
        return { kind: "refused", code: refusal };
      }
      return { kind: "block", block: CheckedPayload.check(this.deps.config, number, decoder.finish()) };
    } finally {
      this.memory.release(tooMuch);
    }
  }
}
