import { PreparedBlock } from "@rnode/chain";
import { devGenesis, forkchoice, openDevChain } from "@rnode/chain/testing";
import { bigintToBytes, bytesToHex } from "@rnode/primitives";
import {
  blockRules,
  decodeL1BlockInfo,
  derivationFactsAt,
  encodeL1BlockInfo,
  isL1AttributesDeposit,
  L1_INFO_LAYOUT_NAMES,
  L1_INFO_LAYOUTS,
  l1BlockInfoFromStorage,
  l1FeeParamsFromL1BlockStorage,
  OP_FORKS,
  type OpFork,
  PREDEPLOYS,
  parseGenesis,
} from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { RollupAttributes } from "./rollup-attributes.ts";

const word = (value: bigint): string => bytesToHex(bigintToBytes(value, 32));
/** Every field of L1Block has another value. */
const SLOTS: readonly bigint[] = [
  (1_700_000_001n << 64n) | 4_242n,
  7n,
  0xb10cn,
  (1_368n << 96n) | (810_949n << 64n) | 3n,
  0xba7c4n,
  188n,
  684_000n,
  11n,
  (500n << 96n) | (21n << 64n) | 22n,
];

function chainOf(fork: OpFork) {
  const { header } = devGenesis(fork);
  const genesis = parseGenesis({
    config: null,
    timestamp: header.timestamp,
    gasLimit: "0x1c9c380",
    extraData: bytesToHex(header.extraData),
    baseFeePerGas: "0x3b9aca00",
    alloc: {
      [bytesToHex(PREDEPLOYS.l2ToL1MessagePasser)]: { nonce: "0x1" },
      [bytesToHex(PREDEPLOYS.l1Block)]: {
        nonce: "0x1",
        storage: Object.fromEntries(SLOTS.map((value, slot) => [word(BigInt(slot)), word(value)])),
      },
    },
  });
  return openDevChain(fork, { genesis });
}

describe("L1 attributes of a chain that makes its own blocks", () => {
  it.each(OP_FORKS)("%s: keep what L1Block has, and another node takes the block", async (fork) => {
    const [dev, other] = [chainOf(fork), chainOf(fork)];
    try {
      const { chain } = dev;
      const attributes = new RollupAttributes(chain);
      for (const distance of [1, 2, 3]) {
        const { header: parent, hash } = chain.headerOf({ kind: "tag", tag: "latest" })!;
        const timestamp = parent.timestamp + 2;
        const rules = blockRules(chain.config, { number: parent.number + 1, timestamp });
        const made = chain.buildBlock(hash, {
          timestamp,
          prevRandao: new Uint8Array(32),
          suggestedFeeRecipient: PREDEPLOYS.sequencerFeeVault,
          gasLimit: 30_000_000n,
          noTxPool: true,
          ...(rules.hasWithdrawals && { withdrawals: [] }),
          ...attributes.after(parent, rules),
        });
        if (made.kind !== "built") throw new Error(JSON.stringify(made));
        const { block } = made.payload;
        const [first] = block.transactions;
        if (first?.type !== 0x7e) throw new Error("no deposit");
        expect(isL1AttributesDeposit(first)).toBe(true);
        const { l1InfoLayout: layout } = derivationFactsAt(chain.config.optimism!.forkTimes, parent.timestamp);
        const { isPacked, hasOperatorFee, hasDaFootprintGasScalar } = L1_INFO_LAYOUTS[layout];
        expect(decodeL1BlockInfo(first.data)).toEqual({
          layout,
          number: 4_242,
          timestamp: 1_700_000_001,
          baseFee: 7n,
          sequenceNumber: 3 + distance,
          blockHash: bigintToBytes(0xb10cn, 32),
          batcherHash: bigintToBytes(0xba7c4n, 32),
          overhead: bigintToBytes(isPacked ? 0n : 188n, 32),
          scalar: bigintToBytes(isPacked ? 0n : 684_000n, 32),
          blobBaseFee: isPacked ? 11n : 0n,
          baseFeeScalar: isPacked ? 1_368 : 0,
          blobBaseFeeScalar: isPacked ? 810_949 : 0,
          operatorFeeScalar: hasOperatorFee ? 21 : 0,
          operatorFeeConstant: hasOperatorFee ? 22n : 0n,
          daFootprintGasScalar: hasDaFootprintGasScalar ? 500 : 0,
        });
        for (const node of [chain, other.chain]) expect(node.newPayload(new PreparedBlock(block)).status).toBe("VALID");
        chain.forkchoiceUpdated(forkchoice(made.payload.hash), undefined, 3);
      }
    } finally {
      await Promise.all([dev.remove(), other.remove()]);
    }
  });

  it("read the same fees as the execution does", () => {
    const info = l1BlockInfoFromStorage((slot) => SLOTS[slot]!, "jovian");
    expect(l1FeeParamsFromL1BlockStorage((slot) => SLOTS[slot]!)).toMatchObject({
      l1BaseFee: info.baseFee,
      blobBaseFee: info.blobBaseFee,
      baseFeeScalar: BigInt(info.baseFeeScalar),
      operatorFeeConstant: info.operatorFeeConstant,
    });
  });

  it.each(L1_INFO_LAYOUT_NAMES)("%s: slots of L1Block with all bits set are attributes as well", (layout) => {
    const info = l1BlockInfoFromStorage(() => (1n << 256n) - 1n, layout);
    expect(decodeL1BlockInfo(encodeL1BlockInfo({ ...info, batcherHash: new Uint8Array(32) }))).toMatchObject({
      layout,
      number: Number.MAX_SAFE_INTEGER,
      timestamp: Number.MAX_SAFE_INTEGER,
      baseFee: (1n << 256n) - 1n,
    });
  });
});
