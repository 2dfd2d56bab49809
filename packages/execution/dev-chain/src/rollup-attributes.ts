import type { Chain } from "@rnode/chain";
import { bigintToBytes, bytesToBigint, bytesToHex } from "@rnode/primitives";
import {
  type BlockRules,
  decodeEip1559ExtraData,
  depositOfL1Info,
  derivationFactsAt,
  encodeEip1559Params,
  encodeTransaction,
  type Header,
  hasMinBaseFee,
  L1_INFO_LAYOUT_NAMES,
  l1BlockInfoFromStorage,
  type PayloadAttributes,
  PREDEPLOYS,
} from "@rnode/protocol";
import type { StateView } from "@rnode/storage";

type RollupChain = Pick<Chain, "config" | "genesis" | "head" | "stateAt">;
type AttributesOfRollup = Pick<PayloadAttributes, "transactions" | "parentBeaconBlockRoot" | "eip1559Params" | "minBaseFee">;

/**
 * What each new block of an OP Stack chain has besides an Ethereum block's attributes. No L1 is read: blocks keep the L1 origin that the
 * first block has, and count their distance from it. All other L1 attributes are those in L1Block's storage, so that edits by hand stay.
 */
export class RollupAttributes {
  readonly #chain: RollupChain;
  /** sequence number of the first block */
  readonly #firstSequenceNumber: number;

  constructor(chain: RollupChain) {
    this.#chain = chain;
    const { block, hash } = chain.genesis;
    const state = chain.stateAt({ number: block.header.number, hash: bytesToHex(hash) })!;
    // Its place is the same in all layouts.
    this.#firstSequenceNumber = l1BlockInfoFromStorage(slotReader(state), L1_INFO_LAYOUT_NAMES[0]!).sequenceNumber;
  }

  /** @param rules of the block after `parent`, which is the head */
  after(parent: Header, rules: BlockRules): AttributesOfRollup {
    const chain = this.#chain;
    const { l1InfoLayout } = derivationFactsAt(chain.config.optimism?.forkTimes ?? {}, parent.timestamp);
    const last = l1BlockInfoFromStorage(slotReader(chain.stateAt(chain.head())!), l1InfoLayout);
    const sequenceNumber = this.#firstSequenceNumber + parent.number + 1 - chain.genesis.block.header.number;
    return {
      transactions: [encodeTransaction(depositOfL1Info({ ...last, sequenceNumber }, rules))],
      ...(rules.hasBeaconRoot && { parentBeaconBlockRoot: parent.parentBeaconBlockRoot }), // of the L1 origin
      ...feeParametersOf(parent, rules),
    };
  }
}

const slotReader =
  (state: StateView) =>
  (slot: number): bigint => {
    const word = state.readStorage(PREDEPLOYS.l1Block, bigintToBytes(BigInt(slot), 32));
    return word === undefined ? 0n : bytesToBigint(word);
  };

/** The parent's. */
function feeParametersOf({ extraData }: Header, { extraDataVersion }: BlockRules): AttributesOfRollup {
  if (extraDataVersion === undefined) return {};
  const { denominator, elasticity, minBaseFee } = decodeEip1559ExtraData(extraData, extraDataVersion);
  return {
    eip1559Params: encodeEip1559Params(denominator, elasticity),
    ...(hasMinBaseFee(extraDataVersion) && { minBaseFee: minBaseFee ?? 0n }),
  };
}
