import { codedErrors } from "@rnode/primitives";

export type DevP2PErrorCode =
  | "devp2p/bad-handshake"
  | "devp2p/bad-frame"
  | "devp2p/bad-message"
  | "devp2p/too-large"
  | "devp2p/unexpected-identity"
  | "devp2p/other-chain"
  | "devp2p/useless"
  | "devp2p/timeout"
  | "devp2p/disconnected"
  | "devp2p/peer-gone"
  | "devp2p/request-timeout"
  | "devp2p/request-aborted"
  | "devp2p/bad-answer"
  | "devp2p/busy"
  | "devp2p/bad-enode"
  | "devp2p/bad-setting"
  | "devp2p/thread-lost"
  | "devp2p/closed";

/** What goes wrong with a peer, with a request to it, or with the network's settings. */
export class DevP2PError extends codedErrors<DevP2PErrorCode>({
  "devp2p/bad-handshake": "the peer's RLPx handshake cannot be read",
  "devp2p/bad-frame": "the peer sent a frame that does not authenticate",
  "devp2p/bad-message": "the peer sent a malformed message",
  "devp2p/too-large": "the peer sent a message of {bytes} bytes, of which {maxBytes} are accepted",
  "devp2p/unexpected-identity": "the peer has another key than the one that was dialled",
  "devp2p/other-chain": "the peer is on another chain",
  "devp2p/useless": "the peer speaks no version of eth that we do",
  "devp2p/timeout": "the peer did not go on in time",
  "devp2p/disconnected": "the connection ended",
  "devp2p/peer-gone": "the peer is no longer connected",
  "devp2p/request-timeout": "the peer did not answer in time",
  "devp2p/request-aborted": "the request was given up",
  "devp2p/bad-answer": "the peer's answer is not one to what was asked",
  "devp2p/busy": "too many requests to this peer are under way",
  "devp2p/bad-enode": "{text} is no node's address: expected enode://<128 hex digits>@<IP>:<port>",
  "devp2p/bad-setting": "{setting}",
  "devp2p/thread-lost": "the network of peers is being started again: try again in a moment",
  "devp2p/closed": "the network of peers is closed",
}) {}
