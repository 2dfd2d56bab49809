import { hexToBytes } from "@rnode/primitives";
import type { ExecutionPayload, ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { PayloadVersion } from "../wire/payload-ssz.ts";

/** A published message of a version. Source: docs/protocol/06-testing.md#p2p-vectors */
export interface SampleMessage {
  readonly version: PayloadVersion;
  readonly envelope: ExecutionPayloadEnvelope;
  /** of the message before compression */
  readonly length: number;
  readonly payloadHash: string;
  readonly signingHash: string;
  readonly messageId: string;
}

/** The chain on which the samples were signed. */
export const SAMPLE_CHAIN_ID = 10n;
export const SAMPLE_KEY = new Uint8Array(32).fill(0x11);
export const SAMPLE_SIGNER = hexToBytes("0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a");
/** of the sample of version 4 */
export const SAMPLE_SIGNATURE = hexToBytes(
  "173521b0362938539d85f37232e7a4563260cdb2c4aea985d6641653395158e0" +
    "4e68ac87768247a013258e3cb1960e4c95c4cb07825e44352cb2ff36e01fd980" +
    "01",
);
/** seconds: the time of all samples */
export const SAMPLE_TIME = 1764691201;

const EMPTY_ROOT = hexToBytes("0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");

/** Common fields of the headers of docs/protocol/06-testing.md#header-payload-id-and-root-vectors. */
const common = (blockHash: string, fields: Partial<ExecutionPayload>): ExecutionPayload => ({
  parentHash: new Uint8Array(32).fill(1),
  feeRecipient: hexToBytes("0x4200000000000000000000000000000000000011"),
  stateRoot: new Uint8Array(32).fill(2),
  receiptsRoot: EMPTY_ROOT,
  logsBloom: new Uint8Array(256),
  prevRandao: new Uint8Array(32).fill(3),
  blockNumber: 1000,
  gasLimit: 30_000_000n,
  gasUsed: 0n,
  timestamp: SAMPLE_TIME,
  extraData: new Uint8Array(0),
  baseFeePerGas: 1_000_000_000n,
  blockHash: hexToBytes(blockHash),
  transactions: [],
  withdrawals: undefined,
  blobGasUsed: undefined,
  excessBlobGas: undefined,
  withdrawalsRoot: undefined,
  ...fields,
});

const parentBeaconBlockRoot = new Uint8Array(32).fill(4);

export const SAMPLE_MESSAGES: readonly SampleMessage[] = [
  {
    version: 1,
    envelope: { executionPayload: common("0xe2e2b6f4b2006722f1e941dccee1dbbe66ba120a67afc0dd2f235e0621cb9ee4", {}) },
    length: 573,
    payloadHash: "0x9b93e494075572ba49024aafa019ac76aebf6efcdb5e3e06712fa3fcf783e551",
    signingHash: "0x95cc15431769f0b3e00043c99da610799a8fa635781f2c1d48992135284aa383",
    messageId: "0x5e7edb08d674edc186b0783ef8feac973229716e",
  },
  {
    version: 2,
    envelope: {
      executionPayload: common("0x2553fb623a3b3166574e08156a918319818bbce52df77d97c78a2074548047df", { withdrawals: [] }),
    },
    length: 577,
    payloadHash: "0xb7d72507c13a9580c6d93289adf42f978baba649489e985bc95a553a83fe11c3",
    signingHash: "0x5a305455e1181fff7a5bbe332c8079c1d22ebf26f410223ccf6de3637c46b03f",
    messageId: "0x7232cd53308fa26f0bcb2a836a7dc2519a5c9c95",
  },
  {
    version: 3,
    envelope: {
      executionPayload: common("0x4c2a369c3530c47cac4d8b7d59fabaea0a0c2a1696987216602ac24a11d9e571", {
        extraData: hexToBytes("0x00000000fa00000006"),
        withdrawals: [],
        blobGasUsed: 0n,
        excessBlobGas: 0n,
      }),
      parentBeaconBlockRoot,
    },
    length: 634,
    payloadHash: "0x196470e1874be28c173239cb58317161feede1278b34c5524720b3150a648905",
    signingHash: "0x21c6431bf87f00a1af07967a0a37a102c0bdd848f93afd0f76bf0569a845213c",
    messageId: "0xb65df261cc3db17bbef9ec4ae063230f0c194ff5",
  },
  {
    version: 4,
    envelope: {
      executionPayload: common("0x9d8ee00084c42991d9fe538ecd8c7a55715557d055110030a7753200611445c3", {
        extraData: hexToBytes("0x01000000fa000000060000000000000000"),
        withdrawals: [],
        blobGasUsed: 40_000n,
        excessBlobGas: 0n,
        withdrawalsRoot: new Uint8Array(32).fill(5),
      }),
      parentBeaconBlockRoot,
    },
    length: 674,
    payloadHash: "0x01094898fc5960104ab9398fa14488822c5bc08614d4b798d0d1fb4b9611a4e5",
    signingHash: "0xa72648feb555df2e5769522d63f335024a540b559e415dfdefc902306fbb10d2",
    messageId: "0x2cf29f03cf74f614dc8e1c25261d1a5dac92d954",
  },
];
