import { CodedError } from "@rnode/primitives";

/**
 * peer-api/too-many: a list of blocked or protected peers is full. peer-api/refused: the peer is blocked or banned. peer-api/not-connected:
 * dialling failed
 */
export type PeerApiErrorCode = "peer-api/too-many" | "peer-api/refused" | "peer-api/not-connected";

/** An error of `rnodep2p_*`, with a message for the caller. */
export class PeerApiError extends CodedError<PeerApiErrorCode> {
  constructor(code: PeerApiErrorCode, text: string, data: CodedError["data"], options?: ErrorOptions) {
    super(code, data, options);
    this.message = text;
  }
}
