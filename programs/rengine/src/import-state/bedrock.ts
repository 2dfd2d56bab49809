import { asciiToBytes, bytesToHex, EMPTY_OMMERS_HASH, EMPTY_TRIE_ROOT, hexToBytes, ZERO_HASH } from "@rnode/primitives";
import { type Block, type Header, hashHeader, PREDEPLOYS } from "@rnode/protocol";

/** Headers of first blocks whose state is that of another client. */
const FIRST_HEADERS: readonly Header[] = [
  // OP Mainnet, Bedrock
  {
    parentHash: hexToBytes("0x21a168dfa5e727926063a28ba16fd5ee84c814e847c81a699c7a0ea551e4ca50"),
    ommersHash: EMPTY_OMMERS_HASH,
    beneficiary: PREDEPLOYS.sequencerFeeVault,
    stateRoot: hexToBytes("0x920314c198da844a041d63bf6cbe8b59583165fd2229d1b3f599da812fd424cb"),
    transactionsRoot: EMPTY_TRIE_ROOT,
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: new Uint8Array(256),
    difficulty: 0n,
    number: 105_235_063,
    gasLimit: 30_000_000n,
    gasUsed: 0n,
    timestamp: 1_686_068_903,
    extraData: asciiToBytes("BEDROCK"),
    mixHash: ZERO_HASH,
    nonce: new Uint8Array(8),
    baseFeePerGas: 1_000_000_000n,
  },
];

/** The first block of a network by its hash, if its header is known. */
export function knownFirstBlock(hash: string): Block | undefined {
  const header = FIRST_HEADERS.find((known) => bytesToHex(hashHeader(known)) === hash);
  return header && { header, transactions: [], ommers: [] };
}
