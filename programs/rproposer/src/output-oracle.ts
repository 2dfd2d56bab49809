import { type ContractCall, encodeCall } from "@rnode/l1";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { type ContractReader, type ContractState, type OutputContract, readWords, wordToNumber } from "./output-contract.ts";
import type { Proposal } from "./proposal.ts";

/** The `L2OutputOracle`: outputs at a fixed block interval, in order and without gaps, all from one account. */
export class OutputOracle implements OutputContract {
  readonly kind = "output oracle";
  readonly checksL1Block = true;
  readonly address: Uint8Array;
  readonly #reader: ContractReader;

  constructor(address: Uint8Array, reader: ContractReader) {
    this.address = address;
    this.#reader = reader;
  }

  async state(): Promise<ContractState> {
    const [next, nextIndex] = await Promise.all([this.#number("nextBlockNumber()"), this.#number("nextOutputIndex()")]);
    const state = { next: { kind: "block", number: next } } as const;
    if (nextIndex === 0) return { ...state, latest: undefined };
    // (root, timestamp, L2 block number)
    const signature = "getL2Output(uint256)";
    const words = await readWords(this.#reader, this.address, signature, [BigInt(nextIndex - 1)], 3);
    return { ...state, latest: { root: bytesToHex(words[0]!), sequenceNumber: wordToNumber(words[2]!, this.address, signature) } };
  }

  async has({ sequenceNumber }: Proposal): Promise<boolean> {
    return (await this.#number("nextBlockNumber()")) > sequenceNumber;
  }

  /** The contract refuses it on a branch of L1 without the block. */
  async transaction({ root, sequenceNumber, status: { currentL1 } }: Proposal): Promise<ContractCall> {
    const words = [hexToBytes(root), BigInt(sequenceNumber), hexToBytes(currentL1.hash), BigInt(currentL1.number)];
    return { to: this.address, data: encodeCall("proposeL2Output(bytes32,uint256,bytes32,uint256)", words) };
  }

  async #number(signature: string): Promise<number> {
    const [word] = await readWords(this.#reader, this.address, signature, [], 1);
    return wordToNumber(word!, this.address, signature);
  }
}
