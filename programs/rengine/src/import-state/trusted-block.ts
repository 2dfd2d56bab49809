import { bytesToHex, equalBytes, hexToBytes } from "@rnode/primitives";
import { type CommandIo, UserError } from "@rnode/program";
import { outputRoot } from "@rnode/protocol";
import type { ChainSpec } from "../setup/chain-spec.ts";
import type { Blocks } from "./block-source.ts";
import type { StateSource } from "./state-source.ts";

export interface Trust {
  readonly blockHash: Uint8Array | undefined;
  /** as posted on L1; commits to block hash and state root */
  readonly outputRoot: Uint8Array | undefined;
}

/** The network's first block is not block 0: its state is that of another client. */
export const startsLater = ({ network }: ChainSpec): boolean => (network?.genesis.l2.number ?? 0) > 0;

/**
 * Hash of the block that the state must be after. @returns `undefined`: `blockOfOutputRoot` finds it
 *
 * @throws {UserError} if nothing says which one it is, or two things differ
 */
export function blockHashOf(
  spec: ChainSpec,
  source: StateSource,
  { blockHash, outputRoot: root }: Trust,
  io: CommandIo,
): Uint8Array | undefined {
  const own = source.kind === "sorted" ? source.blockHash : undefined;
  if (blockHash !== undefined && own !== undefined && !equalBytes(own, blockHash)) {
    throw new UserError(
      `--from: ${source.name} has the state after block ${bytesToHex(own)}, and --block-hash says ${bytesToHex(blockHash)}`,
    );
  }
  if (blockHash !== undefined) return blockHash;
  if (own !== undefined) {
    if (root === undefined)
      io.err(
        `nothing but ${source.name} itself says that ${bytesToHex(own)} is a block of the chain: --block-hash or --output-root says so`,
      );
    return own;
  }
  if (spec.network !== undefined && startsLater(spec)) return hexToBytes(spec.network.genesis.l2.hash);
  if (root !== undefined && source.kind === "lines") return undefined;
  throw new UserError(
    "--block-hash is required: the hash of the block that the state is after, from a node or an explorer that you trust",
  );
}

/** The newest block that an output root is of. Its header has the storage root that the output root commits to, from Isthmus on. @throws {UserError} */
export async function blockOfOutputRoot(blocks: Pick<Blocks, "headers"> | undefined, wanted: Uint8Array): Promise<Uint8Array> {
  const required = "--block-hash is required with this --output-root";
  if (blocks === undefined) throw new UserError(`${required}, or --blocks, in which its block is looked for`);
  let oldest: number | undefined;
  for await (const { header, hash } of blocks.headers()) {
    const { stateRoot, withdrawalsRoot, number } = header;
    oldest = number;
    if (withdrawalsRoot === undefined) continue;
    if (equalBytes(outputRoot({ stateRoot, messagePasserStorageRoot: withdrawalsRoot, blockHash: hash }), wanted)) return hash;
  }
  throw new UserError(`${required}: no block of --blocks has it, down to block ${oldest ?? "none"}`);
}
