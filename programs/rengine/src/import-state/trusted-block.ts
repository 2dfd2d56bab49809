import { bytesToHex, equalBytes, hexToBytes } from "@rnode/primitives";
import { type CommandIo, UserError } from "@rnode/program";
import type { ChainSpec } from "../setup/chain-spec.ts";
import type { StateSource } from "./state-source.ts";

export interface Trust {
  readonly blockHash: Uint8Array | undefined;
  /** as posted on L1; commits to block hash and state root */
  readonly outputRoot: Uint8Array | undefined;
}

/** The network's first block is not block 0: its state is that of another client. */
export const startsLater = ({ network }: ChainSpec): boolean => (network?.genesis.l2.number ?? 0) > 0;

/** Hash of the block that the state must be after. @throws {UserError} if nothing says which one it is, or two things differ */
export function blockHashOf(spec: ChainSpec, source: StateSource, { blockHash, outputRoot }: Trust, io: CommandIo): Uint8Array {
  const own = source.kind === "sorted" ? source.blockHash : undefined;
  if (blockHash !== undefined && own !== undefined && !equalBytes(own, blockHash)) {
    throw new UserError(
      `--from: ${source.name} has the state after block ${bytesToHex(own)}, and --block-hash says ${bytesToHex(blockHash)}`,
    );
  }
  if (blockHash !== undefined) return blockHash;
  if (own !== undefined) {
    if (outputRoot === undefined)
      io.err(
        `nothing but ${source.name} itself says that ${bytesToHex(own)} is a block of the chain: --block-hash or --output-root says so`,
      );
    return own;
  }
  if (spec.network !== undefined && startsLater(spec)) return hexToBytes(spec.network.genesis.l2.hash);
  throw new UserError(
    "--block-hash is required: the hash of the block that the state is after, from a node or an explorer that you trust",
  );
}
