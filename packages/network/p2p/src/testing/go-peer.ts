import { GoProgram } from "@rnode/program/testing";

/** The Go program's first output. */
export interface GoIdentity {
  readonly peerId: string;
  readonly addresses: readonly string[];
  /** address whose key signs its published blocks */
  readonly sequencer: string;
  /** only with discovery */
  readonly enr?: string;
  readonly enode?: string;
}

/** A block in the words of the Engine API, with the version of its SSZ form. */
export interface GoBlock {
  readonly version: number;
  readonly parentBeaconBlockRoot: string;
  readonly parentHash: string;
  readonly feeRecipient: string;
  readonly stateRoot: string;
  readonly receiptsRoot: string;
  readonly logsBloom: string;
  readonly prevRandao: string;
  readonly blockNumber: string;
  readonly gasLimit: string;
  readonly gasUsed: string;
  readonly timestamp: string;
  readonly extraData: string;
  readonly baseFeePerGas: string;
  /** computed by the Go program */
  readonly blockHash: string;
  readonly transactions: readonly string[];
  readonly blobGasUsed: string;
  readonly excessBlobGas: string;
  readonly withdrawalsRoot: string;
}

export interface GoPeerView {
  readonly id: string;
  readonly address: string;
  readonly direction: string;
  readonly security: string;
  readonly muxer: string;
  readonly agent: string;
  readonly protocols: readonly string[];
  readonly subscribed: readonly number[];
}

export interface GoAnswer {
  readonly protocol: string;
  readonly result: number;
  readonly version?: number;
  readonly block?: GoBlock;
}

/** The Go program's events. */
export type GoEvent =
  | { readonly event: "block"; readonly from: string; readonly block: GoBlock }
  | { readonly event: "refused"; readonly from: string; readonly version: number; readonly reason: string };

/** Fields of a command; the rest of a command is its name. */
export interface GoCommand {
  readonly address?: string;
  readonly peer?: string;
  readonly number?: number;
  readonly slash?: boolean;
  readonly signer?: string;
  readonly timeoutMs?: number;
  readonly block?: GoBlock;
  readonly size?: number;
  readonly count?: number;
}

/** The Go program of `interop/` as a child process. */
export type GoPeer = GoProgram<GoIdentity, GoCommand, GoEvent>;

/** @throws with its last words when it does not start */
export const startGoPeer = (binary: string, args: readonly string[]): Promise<GoPeer> =>
  GoProgram.start<GoIdentity, GoCommand, GoEvent>(binary, args);
