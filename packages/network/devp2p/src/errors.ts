import { CodedError, isCodedError } from "@rnode/primitives";

export type DevP2PErrorCode =
  // of a peer
  | "devp2p/bad-handshake"
  /** a frame that does not authenticate */
  | "devp2p/bad-frame"
  | "devp2p/bad-message"
  /** a message of `bytes`, of which `maxBytes` are accepted */
  | "devp2p/too-large"
  /** its key is not the dialled one */
  | "devp2p/unexpected-identity"
  | "devp2p/other-chain"
  /** it speaks no version of eth that we do */
  | "devp2p/useless"
  /** there is no room for its handshake */
  | "devp2p/refused"
  | "devp2p/timeout"
  | "devp2p/disconnected"
  // of a request to a peer
  | "devp2p/peer-gone"
  | "devp2p/request-timeout"
  | "devp2p/request-aborted"
  /** the answer does not match the request */
  | "devp2p/bad-answer"
  /** too many requests to this peer are under way */
  | "devp2p/busy"
  // of settings, and of the network as a whole: operators read these
  | "devp2p/bad-enode"
  | "devp2p/bad-setting"
  | "devp2p/thread-lost"
  | "devp2p/closed";

const SENTENCES: Partial<Record<DevP2PErrorCode, string>> = {
  "devp2p/bad-enode": "{text} is no node's address: expected enode://<128 hex digits>@<IP>:<port>",
  "devp2p/bad-setting": "{setting}",
  "devp2p/thread-lost": "the network of peers is being started again: try again in a moment",
  "devp2p/closed": "the network of peers is closed",
};

/** Errors of a peer, of a request to it, or of the network's settings. */
export class DevP2PError extends CodedError<DevP2PErrorCode> {
  constructor(code: DevP2PErrorCode, data: CodedError["data"] = {}, options: ErrorOptions = {}) {
    const sentence = SENTENCES[code];
    super(code, data, { ...options, ...(sentence !== undefined && { sentence }) });
  }
}

/** Decodes a peer's message. @throws {DevP2PError} devp2p/bad-message instead of rlp/* */
export function decodeMessage<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!isCodedError(error, "rlp/")) throw error;
    throw new DevP2PError("devp2p/bad-message", { reason: error.message }, { cause: error });
  }
}
