import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EMPTY_KECCAK, EMPTY_OMMERS_HASH, EMPTY_TRIE_ROOT, keccak256, ZERO_HASH } from "@rnode/primitives";
import { expect, it } from "vitest";
import { openRethData } from "../open-reth-data.ts";
import { writeDataDirectory } from "./data-directory.ts";

it("a written data directory has what was written", () => {
  const folder = join(mkdtempSync(join(tmpdir(), "rnode-data-directory-")), "data");
  const code = Uint8Array.of(0x60, 1);
  const header = {
    parentHash: keccak256(Uint8Array.of(1)),
    ommersHash: EMPTY_OMMERS_HASH,
    beneficiary: new Uint8Array(20).fill(2),
    stateRoot: keccak256(Uint8Array.of(3)),
    transactionsRoot: EMPTY_TRIE_ROOT,
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: new Uint8Array(256),
    difficulty: 0n,
    number: 70_000,
    gasLimit: 30_000_000n,
    gasUsed: 21_000n,
    timestamp: 1_700_000_000,
    extraData: Uint8Array.of(7),
    mixHash: ZERO_HASH,
    nonce: new Uint8Array(8),
    baseFeePerGas: 1_000n,
  };
  const accounts = [
    { addressHash: ZERO_HASH, nonce: 0n, balance: 10n ** 20n, codeHash: EMPTY_KECCAK },
    { addressHash: keccak256(code), nonce: 300n, balance: 0n, codeHash: keccak256(code) },
  ];
  const slots = [7, 8, 9].map((seed) => ({
    addressHash: keccak256(code),
    slotHash: new Uint8Array(32).fill(seed),
    value: Uint8Array.of(seed),
  }));
  writeDataDirectory(folder, header, { accounts, slots, codes: [[keccak256(code), code]] });
  const data = openRethData(folder);
  try {
    expect(data.header(70_000)).toEqual(header);
    expect([...data.accounts()]).toEqual(accounts);
    expect([...data.slots()]).toEqual(slots);
    expect(data.code(keccak256(code))).toEqual(code);
  } finally {
    data.close();
  }
});
