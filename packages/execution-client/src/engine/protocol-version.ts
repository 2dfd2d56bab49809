import { concatBytes, uint64ToBytes } from "@rnode/primitives";

export interface SignalledVersions {
  /** 32 bytes each */
  readonly recommended: Uint8Array;
  readonly required: Uint8Array;
}

/**
 * `type 1 ‖ reserved 7 ‖ build 8 ‖ major u32 ‖ minor u32 ‖ patch u32 ‖ pre-release u32`.
 * Spec: docs/protocol/05-services.md#runtime-config-protocol-versions
 */
function protocolVersion(major: number, minor: number, patch: number): Uint8Array {
  const numbers = new Uint8Array(16);
  const view = new DataView(numbers.buffer);
  view.setUint32(0, major);
  view.setUint32(4, minor);
  view.setUint32(8, patch);
  return concatBytes(new Uint8Array(8), uint64ToBytes(0), numbers);
}

/** The protocol version that this client implements: up to Jovian. */
export const LOCAL_PROTOCOL_VERSION = protocolVersion(9, 0, 0);
