import type { Clock } from "@rnode/primitives";
import { DevP2PError } from "./errors.ts";
import type { RlpxConnection } from "./rlpx/connection.ts";

const MAX_REQUESTS = 16;
const REQUEST_LIMIT_MS = 15_000;
/** time after an aborted request in which its answer may still be large */
const LATE_MS = 30_000;

export interface PeerQuestion {
  readonly code: number;
  /** code of the answer */
  readonly answer: number;
  readonly maxItems: number;
  readonly message: (id: number) => Uint8Array;
}

interface OpenRequest<Answer> {
  readonly answer: number;
  readonly maxItems: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** The requests to a peer that wait for their answers, by id. */
export class OpenRequests<Answer> {
  readonly #connection: RlpxConnection;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #open = new Map<bigint, OpenRequest<Answer>>();
  #lastId = 0;
  #lateUntilMs = 0;

  constructor(connection: RlpxConnection, clock: Pick<Clock, "monotonicMs">) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** Whether a large message may be an answer. */
  get isExpecting(): boolean {
    return this.#open.size > 0 || this.#clock.monotonicMs() < this.#lateUntilMs;
  }

  /** @throws {DevP2PError} devp2p/peer-gone, devp2p/request-timeout, devp2p/request-aborted, devp2p/busy */
  ask({ code, answer, maxItems, message }: PeerQuestion, signal: AbortSignal): Promise<Answer> {
    if (signal.aborted) return Promise.reject(new DevP2PError("devp2p/request-aborted"));
    if (this.#connection.isClosed) return Promise.reject(new DevP2PError("devp2p/peer-gone"));
    if (this.#open.size >= MAX_REQUESTS) return Promise.reject(new DevP2PError("devp2p/busy"));
    const number = ++this.#lastId;
    const id = BigInt(number);
    return new Promise((resolve, reject) => {
      const giveUp = (error: DevP2PError): void => {
        this.#open.delete(id);
        this.#lateUntilMs = this.#clock.monotonicMs() + LATE_MS;
        end();
        reject(error);
      };
      const abort = (): void => giveUp(new DevP2PError("devp2p/request-aborted"));
      const timer = setTimeout(
        () => giveUp(new DevP2PError("devp2p/request-timeout", { limitMs: REQUEST_LIMIT_MS })),
        REQUEST_LIMIT_MS,
      );
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
      };
      signal.addEventListener("abort", abort);
      this.#open.set(id, {
        answer,
        maxItems,
        resolve: (given) => {
          end();
          resolve(given);
        },
        reject: (error) => {
          end();
          reject(error);
        },
      });
      this.#connection.send(code, message(number));
    });
  }

  /** @returns maximum number of items in the answer; −1: the request is no longer pending. @throws {DevP2PError} devp2p/bad-message */
  expected(code: number, id: bigint): number {
    const request = this.#open.get(id);
    if (request === undefined) return -1;
    if (request.answer !== code)
      throw new DevP2PError("devp2p/bad-message", { reason: `message ${code} in answer to another request` });
    return request.maxItems;
  }

  take(id: bigint, answer: Answer): void {
    const request = this.#open.get(id);
    this.#open.delete(id);
    request?.resolve(answer);
  }

  /** The peer is gone. */
  close(): void {
    for (const { reject } of this.#open.values()) reject(new DevP2PError("devp2p/peer-gone"));
    this.#open.clear();
  }
}
