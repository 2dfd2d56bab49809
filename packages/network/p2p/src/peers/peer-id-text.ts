import { base32, base32upper } from "multiformats/bases/base32";
import { base36 } from "multiformats/bases/base36";
import { base58btc } from "multiformats/bases/base58";

/**
 * Peer ids as text. Their bytes are a multihash: of a short public key the key itself (code 0), of a longer one its SHA-256 digest
 * (code 0x12). The rollup node reads them too, so this must not load libp2p.
 */

const IDENTITY = 0x00;
const SHA2_256 = 0x12;
const MAX_TEXT_LENGTH = 128;
/** `01` CIDv1, `72` libp2p-key */
const CID_PREFIX = [0x01, 0x72] as const;

const isMultihash = (bytes: Uint8Array): boolean =>
  bytes[1] === bytes.length - 2 &&
  ((bytes[0] === IDENTITY && bytes.length > 4 && bytes.length <= 44) || (bytes[0] === SHA2_256 && bytes.length === 34));

/**
 * @param text base58 (`16Uiu2HA…`, `12D3Koo…`, `Qm…`) or a CID of the codec libp2p-key (`bafz…`)
 * @returns the multihash; `undefined`: not a peer id
 */
export function peerIdBytes(text: string): Uint8Array | undefined {
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  try {
    if (text.startsWith("1") || text.startsWith("Qm")) return checked(base58btc.baseDecode(text));
    const cid = text.startsWith("z") ? base58btc.decode(text) : text.startsWith("k") ? base36.decode(text) : base32.decode(text);
    return CID_PREFIX.every((byte, index) => cid[index] === byte) ? checked(cid.subarray(2)) : undefined;
  } catch {
    return undefined; // a character or a length that the base does not have
  }
}

const checked = (bytes: Uint8Array): Uint8Array | undefined => (isMultihash(bytes) ? bytes : undefined);

/** The canonical form: base58 of the multihash. @returns `undefined`: not a peer id */
export function canonicalPeerId(text: string): string | undefined {
  const bytes = peerIdBytes(text);
  return bytes && base58btc.baseEncode(bytes);
}

/** As in the keys of the peer store: base32, upper case, unpadded. */
export const peerIdKeyText = (peerId: string): string => base32upper.baseEncode(base58btc.baseDecode(peerId));

/** The inverse of `peerIdKeyText`. @returns `undefined`: not a peer id */
export function peerIdOfKeyText(text: string): string | undefined {
  try {
    const bytes = base32upper.baseDecode(text);
    return isMultihash(bytes) ? base58btc.baseEncode(bytes) : undefined;
  } catch {
    return undefined;
  }
}

/** @returns the compressed public key (33 bytes); `undefined`: the peer has another kind of key */
export function secp256k1KeyOf(peerId: string): Uint8Array | undefined {
  const bytes = peerIdBytes(peerId);
  // multihash 00 25, protobuf 08 02 (type secp256k1) 12 21 (33 bytes)
  const prefix = [0x00, 0x25, 0x08, 0x02, 0x12, 0x21];
  return bytes?.length === 39 && prefix.every((byte, index) => bytes[index] === byte) ? bytes.subarray(6) : undefined;
}
