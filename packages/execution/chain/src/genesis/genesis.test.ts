import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, EMPTY_TRIE_ROOT, hexToBytes } from "@rnode/primitives";
import { type ChainConfig, exactTimestamp, type Genesis, hashHeader, parseGenesis } from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import { describe, expect, it } from "vitest";
import { devConfig } from "../testing/dev-chain.ts";
import { genesisBlock, initGenesis, sealGenesis } from "./genesis.ts";
import { GenesisState } from "./genesis-state.ts";

const MESSAGE_PASSER = "0x4200000000000000000000000000000000000016";
const WORD = (byte: string) => `0x${byte.padStart(64, "0")}`;

const genesis: Genesis = parseGenesis({
  config: null,
  timestamp: "0x64",
  extraData: "0x424544524f434b",
  gasLimit: "0x1c9c380",
  coinbase: "0x4200000000000000000000000000000000000011",
  alloc: {
    [MESSAGE_PASSER]: { code: "0x00", balance: "0x0", storage: { [WORD("01")]: WORD("02"), [WORD("03")]: WORD("00") } },
    "1111111111111111111111111111111111111111": { balance: "1000" },
    "2222222222222222222222222222222222222222": { nonce: "0x1", code: "0x00" },
  },
});

describe("genesisBlock", () => {
  it.each([
    ["bedrock", ["baseFeePerGas"]],
    ["canyon", ["baseFeePerGas", "withdrawalsRoot"]],
    ["ecotone", ["baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot"]],
    ["jovian", ["baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot", "requestsHash"]],
  ] as const)("fills in what %s demands", (fork, fields) => {
    const { header } = genesisBlock(genesis, devConfig(fork)).block;
    const optional = [
      "baseFeePerGas",
      "withdrawalsRoot",
      "blobGasUsed",
      "excessBlobGas",
      "parentBeaconBlockRoot",
      "requestsHash",
    ] as const;
    expect(optional.filter((field) => header[field] !== undefined)).toEqual(fields);
    expect(bytesToHex(header.extraData)).toBe("0x424544524f434b");
  });

  it("has the message passer's storage root from Isthmus, the empty root before", () => {
    const holocene = genesisBlock(genesis, devConfig("holocene"));
    const isthmus = genesisBlock(genesis, devConfig("isthmus"));
    const root = isthmus.storageRoots.get(MESSAGE_PASSER)!;
    expect(isthmus.block.header.withdrawalsRoot).toEqual(root);
    expect(root).not.toEqual(EMPTY_TRIE_ROOT);
    expect(holocene.block.header.withdrawalsRoot).toEqual(EMPTY_TRIE_ROOT);
    expect(isthmus.block.header.stateRoot).toEqual(holocene.block.header.stateRoot);
  });

  it("leaves zero slots out and lists each code once", () => {
    const { changes } = genesisBlock(genesis, devConfig("canyon"));
    expect(changes.accounts.find(({ address }) => bytesToHex(address) === MESSAGE_PASSER)!.storage).toHaveLength(1);
    expect(changes.codes.map(({ code }) => bytesToHex(code))).toEqual(["0x00"]);
  });

  it("gives Ethereum mainnet's kind of header before London", () => {
    const config: ChainConfig = { chainId: 1n, forkBlocks: {}, evmForkTimes: {}, blobSchedule: [] };
    const { block } = genesisBlock({ ...genesis, header: { ...genesis.header, difficulty: 17n } }, config);
    expect(block.header.baseFeePerGas).toBeUndefined();
    expect(block.header.difficulty).toBe(17n);
    expect(block.withdrawals).toBeUndefined();
  });

  it("keeps an account that has nothing: a genesis may list empty ones", () => {
    const empty = {
      ...genesis,
      alloc: [{ address: hexToBytes(`0x${"33".repeat(20)}`), balance: 0n, nonce: 0n, code: new Uint8Array(0), storage: [] }],
    };
    expect(genesisBlock(empty, devConfig("canyon")).block.header.stateRoot).not.toEqual(EMPTY_TRIE_ROOT);
  });
});

describe("initGenesis", () => {
  const config: ChainConfig = { chainId: 1n, forkBlocks: {}, evmForkTimes: {}, terminalTotalDifficulty: 0n, blobSchedule: [] };
  const write = async (number: string, timestamp: string) => {
    const folder = mkdtempSync(join(tmpdir(), "genesis-"));
    const store = openChainStore(folder, { sync: "interval" });
    try {
      const { header, alloc } = parseGenesis({ number, timestamp, gasLimit: "0x1", alloc: {} });
      const sealed = sealGenesis(header, config, GenesisState.of(alloc));
      initGenesis(store, sealed);
      return { sealed: sealed.block.header, stored: store.readHeader(sealed.hash)! };
    } finally {
      await store.close();
    }
  };

  it.each(["0x1fffffffffffff", "0x20000000000000", "0x20000000000001", "0x8000000000000000", "0xffffffffffffffff"])(
    "stores the timestamp %s",
    async (timestamp) => {
      const { sealed, stored } = await write("0x7", timestamp);
      expect(BigInt(exactTimestamp(stored))).toBe(BigInt(timestamp));
      expect(hashHeader(stored)).toEqual(hashHeader(sealed));
    },
  );

  it("refuses a number that no key of the database can have", async () => {
    expect((await write("0xfffffffffffe", "0x0")).stored.number).toBe(2 ** 48 - 2);
    for (const number of ["0xffffffffffff", "0x1fffffffffffff", "0x20000000000001", "0xffffffffffffffff"]) {
      await expect(write(number, "0x0")).rejects.toThrow(
        expect.objectContaining({
          code: "chain/genesis-number-too-large",
          message: expect.stringContaining(String(BigInt(number))),
        }),
      );
    }
  });
});
