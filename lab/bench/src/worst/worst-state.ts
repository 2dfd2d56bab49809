import { newEngine } from "@rnode/chain";
import type { StateReader } from "@rnode/evm";
import { bytesToHex, concatBytes, EMPTY_KECCAK, hexToBytes, keccak256 } from "@rnode/primitives";
import { rollupRules } from "@rnode/protocol";
import type { WorstCase } from "./worst-code.ts";

/**
 * The state of all cases, generated on reads, so no row measures a database:
 *
 * - the case's contracts, with 10^24 wei; the sender 0x99…99
 * - 0xb0…: accounts with 1 wei. 0xc1…: contracts with 1 wei and the case's `bulk` code, each with its own code hash (0xc1 twelve
 *   times, then the address). 0xd7…: accounts that delegate to the contract 0xc1… with the same last four bytes (EIP-7702)
 * - in every account, a slot whose number begins with 0x01 has its own number as value; all others are zero
 * - block 1000; its ancestors' hashes are their numbers
 */
const SENDER = hexToBytes(`0x${"99".repeat(20)}`);
const RICH_WEI = 10n ** 24n;
const BLOCK_NUMBER = 1000n;
const BLOCK_GAS = 1n << 40n;
const KIND_ACCOUNT = 0xb0;
const KIND_CONTRACT = 0xc1;
const KIND_DELEGATED = 0xd7;
const DELEGATION_PREFIX = Uint8Array.of(0xef, 0x01, 0x00);

const codeHashOf = (address: Uint8Array): Uint8Array => concatBytes(new Uint8Array(12).fill(address[0]!), address);

function readerOf({ contracts, bulk = new Uint8Array(32) }: WorstCase): StateReader {
  const hashes = new Map(contracts.map(({ address, code }) => [bytesToHex(address), keccak256(code)]));
  const codes = new Map(contracts.map(({ code }) => [bytesToHex(keccak256(code)), code]));
  const stamped = bulk.slice();
  return {
    readAccount(address) {
      const kind = address[0];
      if (kind === SENDER[0]) return { nonce: 0n, balance: RICH_WEI, codeHash: EMPTY_KECCAK };
      if (kind === KIND_ACCOUNT) return { nonce: 0n, balance: 1n, codeHash: EMPTY_KECCAK };
      if (kind === KIND_CONTRACT || kind === KIND_DELEGATED) return { nonce: 1n, balance: 1n, codeHash: codeHashOf(address) };
      if (kind !== 0xc0) return undefined;
      const codeHash = hashes.get(bytesToHex(address));
      return codeHash === undefined ? undefined : { nonce: 1n, balance: RICH_WEI, codeHash };
    },
    readStorage: (_, slot) => (slot[0] === 1 ? slot.slice() : undefined),
    readCode(hash) {
      if (hash[11] === KIND_CONTRACT && hash[12] === KIND_CONTRACT) {
        stamped.set(hash.subarray(28), stamped.length - 4);
        return stamped;
      }
      if (hash[11] === KIND_DELEGATED && hash[12] === KIND_DELEGATED) {
        const target = new Uint8Array(20);
        target[0] = KIND_CONTRACT;
        target.set(hash.subarray(28), 16);
        return concatBytes(DELEGATION_PREFIX, target);
      }
      return codes.get(bytesToHex(hash))!;
    },
    readBlockHash: (number) => {
      const hash = new Uint8Array(32);
      new DataView(hash.buffer).setUint32(28, Number(number));
      return hash;
    },
  };
}

export interface Run {
  readonly gas: number;
  /** CPU time of the process, with compilers and garbage collection */
  readonly cpuNs: number;
  readonly wallNs: number;
  /** "success", or why the transaction failed */
  readonly status: string;
}

/** A word that no earlier run has used, from which a case derives addresses and slots. */
export function startWord(run: number): Uint8Array {
  const word = new Uint8Array(32);
  new DataView(word.buffer).setUint32(28, (run << 18) >>> 0);
  return word;
}

/** Our engine as a node uses it, with the rules of the newest fork that is scheduled. */
export class WorstEngine {
  readonly #engine = newEngine();
  readonly #rules = { ...rollupRules("karst"), chainId: 901n, blobParams: undefined, isDaoForkBlock: false };

  constructor() {
    this.#engine.warmUp();
  }

  /** Runs the case as the only transaction of a block. */
  run(worst: WorstCase, gasLimit: number, data: Uint8Array): Run {
    const environment = {
      number: BLOCK_NUMBER,
      timestamp: 1n,
      beneficiary: new Uint8Array(20),
      gasLimit: BLOCK_GAS,
      baseFeePerGas: 0n,
      difficulty: 0n,
      prevRandao: new Uint8Array(32),
      blobBaseFee: 1n,
    };
    const reader = readerOf(worst);
    const to = worst.contracts[0]!.address;
    const cpuBefore = process.cpuUsage();
    const wallBefore = process.hrtime.bigint();
    const block = this.#engine.beginBlock(this.#rules, environment, reader);
    const outcome = block.applyMessage({ from: SENDER, to, gasLimit: BigInt(gasLimit), value: 0n, data, gasPrice: 0n });
    const wallNs = Number(process.hrtime.bigint() - wallBefore);
    const { user, system } = process.cpuUsage(cpuBefore);
    return { gas: Number(outcome.gasUsed), cpuNs: 1000 * (user + system), wallNs, status: outcome.halt ?? "success" };
  }
}
