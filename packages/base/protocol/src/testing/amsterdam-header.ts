/**
 * A block object of a public Amsterdam devnet (made by Reth 2.7.0), from `eth_getBlockByNumber`.
 * Source: docs/protocol/05-services.md#l1-after-amsterdam
 */
export const AMSTERDAM_BLOCK_JSON = {
  hash: "0x86e1583ca604ce5de648b44c41fb309b8dfe72ab21b57ad9f12eb0d92ac991f8",
  parentHash: "0x2648510bb7819909b36373a3a2ccda82a51a0c8b154d03ff7710ef8d64b689e6",
  sha3Uncles: "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
  miner: "0x8943545177806ed17b9f23f0a21ee5948ecaa776",
  stateRoot: "0x2338ab0cb5b76db31251fc2352e9142fd8b2bf19de6ac4a3c201b84d6ba737d3",
  transactionsRoot: "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
  receiptsRoot: "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
  withdrawalsRoot: "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
  logsBloom: `0x${"00".repeat(256)}`,
  difficulty: "0x0",
  number: "0xc0",
  gasLimit: "0xbebc200",
  gasUsed: "0x0",
  timestamp: "0x6abd0dcb",
  extraData: "0x726574682f76322e372e302f6c696e7578",
  mixHash: "0x27184df4d2e2182675a2310a546d32e0d74a7accd4fbeafa84a903cd489dd40c",
  nonce: "0x0000000000000000",
  baseFeePerGas: "0x7",
  blobGasUsed: "0x0",
  excessBlobGas: "0x0",
  parentBeaconBlockRoot: "0x1214de134cf32c261ff3c2b6f96435016e9b98bf7dcd4870ad0009a2acf79974",
  requestsHash: "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  blockAccessListHash: "0x1d33a17375e8dd0aef5da65c3f51422043f1c40d52eceaaca238cc92501aa32e",
  slotNumber: "0xc0",
  transactions: [],
  uncles: [],
  withdrawals: [],
} as const;
