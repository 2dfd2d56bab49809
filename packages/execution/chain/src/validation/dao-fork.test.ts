import type { AccountRecord, StateReader } from "@rnode/evm";
import { bytesToHex, concatBytes, EMPTY_KECCAK, hexToBytes, keccak256 } from "@rnode/primitives";
import { forkRules } from "@rnode/protocol";
import { expect, it } from "vitest";
import { newEngine } from "../execute/engine-module.ts";
import { applyDaoFork } from "./dao-fork.ts";
import { DAO_FORK_ACCOUNTS } from "./dao-fork-accounts.ts";

const REFUND = hexToBytes("0xbf4ed7b27f1d666546e30d74d50d173d20bca754");
const account = (byte: number) => new Uint8Array(20).fill(byte);

it("the DAO fork moves every listed balance to the refund contract", () => {
  const balances = new Map<string, bigint>([
    [bytesToHex(REFUND), 5n],
    [bytesToHex(account(1)), 100n],
    [bytesToHex(account(2)), 20n],
    [bytesToHex(account(3)), 7n],
  ]);
  const reader: StateReader = {
    readAccount(address): AccountRecord | undefined {
      const balance = balances.get(bytesToHex(address));
      return balance === undefined ? undefined : { nonce: 0n, balance, codeHash: EMPTY_KECCAK };
    },
    readStorage: () => undefined,
    readCode: () => new Uint8Array(0),
    readBlockHash: () => undefined,
  };
  const rules = { ...forkRules("homestead"), chainId: 1n, blobParams: undefined, isDaoForkBlock: true };
  const environment = {
    number: 5n,
    timestamp: 1n,
    beneficiary: account(9),
    gasLimit: 5_000_000n,
    baseFeePerGas: 0n,
    difficulty: 1n,
    prevRandao: new Uint8Array(32),
    blobBaseFee: 1n,
  };
  const execution = newEngine().beginBlock(rules, environment, reader);
  applyDaoFork(execution, [account(1), account(2), account(4)]);
  const after = new Map(execution.changes().accounts.map((change) => [bytesToHex(change.address), change.after?.balance]));
  expect(after.get(bytesToHex(REFUND))).toBe(125n);
  expect(after.get(bytesToHex(account(1)))).toBe(0n);
  expect(after.get(bytesToHex(account(2)))).toBe(0n);
  expect(after.has(bytesToHex(account(3)))).toBe(false);
});

it("the list has the 116 accounts of the main network", () => {
  expect(new Set(DAO_FORK_ACCOUNTS.map(bytesToHex)).size).toBe(116);
  expect(DAO_FORK_ACCOUNTS.every(({ length }) => length === 20)).toBe(true);
  expect(bytesToHex(keccak256(concatBytes(...DAO_FORK_ACCOUNTS)))).toBe(
    "0xd7a540f481f822f34a344df94618ce9140351a49c140cada4ab7066b0bcdb4c6",
  );
});
