import { hexToBytes } from "@rnode/primitives";

interface L1InfoLayoutFacts {
  readonly selector: Uint8Array;
  /** of the calldata, including the selector */
  readonly lengthBytes: number;
  /** true: packed values, including the blob base fee scalar; false: one word each, with `overhead` and `scalar` */
  readonly isPacked: boolean;
  readonly hasOperatorFee: boolean;
  readonly hasDaFootprintGasScalar: boolean;
}

/**
 * Layouts of the L1 attributes calldata, named after the fork that introduced them. Spec:
 * docs/protocol/02-derivation.md#l1-info-deposit
 */
export const L1_INFO_LAYOUTS = {
  bedrock: {
    selector: hexToBytes("0x015d8eb9"),
    lengthBytes: 260,
    isPacked: false,
    hasOperatorFee: false,
    hasDaFootprintGasScalar: false,
  },
  ecotone: {
    selector: hexToBytes("0x440a5e20"),
    lengthBytes: 164,
    isPacked: true,
    hasOperatorFee: false,
    hasDaFootprintGasScalar: false,
  },
  isthmus: {
    selector: hexToBytes("0x098999be"),
    lengthBytes: 176,
    isPacked: true,
    hasOperatorFee: true,
    hasDaFootprintGasScalar: false,
  },
  jovian: {
    selector: hexToBytes("0x3db6be2b"),
    lengthBytes: 178,
    isPacked: true,
    hasOperatorFee: true,
    hasDaFootprintGasScalar: true,
  },
} as const satisfies Readonly<Record<string, L1InfoLayoutFacts>>;
export type L1InfoLayout = keyof typeof L1_INFO_LAYOUTS;

export const L1_INFO_LAYOUT_NAMES = Object.keys(L1_INFO_LAYOUTS) as readonly L1InfoLayout[];
