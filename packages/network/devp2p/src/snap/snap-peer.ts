import type { Clock } from "@rnode/primitives";
import type { StatePeer } from "../api.ts";
import { DevP2PError, decodeMessage } from "../errors.ts";
import { OpenRequests } from "../requests.ts";
import type { RlpxConnection } from "../rlpx/connection.ts";
import {
  decodeAccountRangeRequest,
  decodeByteCodesRequest,
  decodeStorageRangesRequest,
  decodeTrieNodesRequest,
  encodeAccountRange,
  encodeBlobs,
  encodeStorageRanges,
  idOf,
  SNAP,
  SNAP_MESSAGES,
} from "./messages.ts";
import type { ServedState } from "./served-state.ts";
import { encodeStateRequest, STATE_CODES, type StateRequest, statePeerOf } from "./state-requests.ts";
import type { WorkShare } from "./work-share.ts";

export interface SnapPeerDeps {
  readonly state: ServedState;
  /** of the CPU time that the answers to all peers take */
  readonly share: WorkShare;
  /** for metrics: served items */
  readonly onServed?: ((what: string, items: number, bytes: number) => void) | undefined;
}

/** What a request is answered with. */
interface Answer {
  readonly what: string;
  readonly items: number;
  readonly data: Uint8Array;
}

/** The part of a peer that speaks `snap` beside `eth`: answers its requests, and requests states. */
export class SnapPeer {
  readonly #connection: RlpxConnection;
  readonly #firstCode: number;
  readonly #deps: SnapPeerDeps;
  readonly #requests: OpenRequests<Uint8Array>;
  readonly state: StatePeer = statePeerOf((request, signal) => this.ask(request, signal));

  /** @param firstCode of the capability's messages on this connection */
  constructor(connection: RlpxConnection, firstCode: number, deps: SnapPeerDeps, clock: Pick<Clock, "monotonicMs">) {
    this.#connection = connection;
    this.#firstCode = firstCode;
    this.#deps = deps;
    this.#requests = new OpenRequests(connection, clock);
  }

  get isExpecting(): boolean {
    return this.#requests.isExpecting;
  }

  /** @returns the message that answers it. @throws {DevP2PError} devp2p/peer-gone, devp2p/request-timeout… */
  ask(request: StateRequest, signal: AbortSignal): Promise<Uint8Array> {
    const code = this.#firstCode + STATE_CODES[request.kind];
    const message = (id: number): Uint8Array => encodeStateRequest(id, request);
    return this.#requests.ask({ code, answer: code + 1, maxItems: 1, message }, signal);
  }

  /** The peer is gone. */
  close(): void {
    this.#requests.close();
  }

  hasCode(code: number): boolean {
    return code >= this.#firstCode && code < this.#firstCode + SNAP_MESSAGES;
  }

  /** @throws {DevP2PError} devp2p/bad-message */
  async handle(code: number, data: Uint8Array, signal: AbortSignal): Promise<void> {
    const request = code - this.#firstCode;
    if (request % 2 === 1) {
      const id = decodeMessage(() => idOf(data));
      if (this.#requests.expected(code, id) > 0) this.#requests.take(id, data.slice());
      return;
    }
    const answer = await this.#deps.share.run(() => decodeMessage(() => this.#answer(request, data)), signal);
    if (answer === undefined) return;
    this.#connection.send(code + 1, answer.data); // each answer's code follows its request's
    this.#deps.onServed?.(answer.what, answer.items, answer.data.length);
    await this.#connection.drained();
  }

  #answer(request: number, data: Uint8Array): Answer {
    const { state } = this.#deps;
    switch (request) {
      case SNAP.getAccountRange: {
        const wanted = decodeAccountRangeRequest(data);
        const range = state.accountRange(wanted);
        return { what: "accounts", items: range.accounts.length, data: encodeAccountRange(wanted.id, range) };
      }
      case SNAP.getStorageRanges: {
        const wanted = decodeStorageRangesRequest(data);
        const ranges = state.storageRanges(wanted);
        const items = ranges.slots.reduce((sum, rows) => sum + rows.length, 0);
        return { what: "slots", items, data: encodeStorageRanges(wanted.id, ranges) };
      }
      case SNAP.getByteCodes: {
        const wanted = decodeByteCodesRequest(data);
        const codes = state.byteCodes(wanted);
        return { what: "codes", items: codes.length, data: encodeBlobs(wanted.id, codes) };
      }
      case SNAP.getTrieNodes: {
        const wanted = decodeTrieNodesRequest(data);
        const nodes = state.trieNodes(wanted);
        return { what: "nodes", items: nodes.length, data: encodeBlobs(wanted.id, nodes) };
      }
      default:
        throw new DevP2PError("devp2p/bad-message", { reason: `message ${request} of snap/1` });
    }
  }
}
