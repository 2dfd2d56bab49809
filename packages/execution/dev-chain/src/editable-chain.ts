import {
  type BuildResult,
  type ChainDependencies,
  type ChainOptions,
  type HeaderChoices,
  payloadOf,
  StoredChain,
} from "@rnode/chain";
import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import type { BlockId, Header, PayloadAttributes } from "@rnode/protocol";
import type { Labels, StateView } from "@rnode/storage";
import { applyStateEdits, EditedState, type StateEdits } from "./state-edits.ts";

export interface EditableChainDeps extends Omit<ChainDependencies, "parentStateOf"> {
  /** the state edits after a block */
  readonly editsAfter: (blockHash: Hex) => StateEdits | undefined;
  /** of a forked chain: the root of the tries that the store has after a block; default: the block's state root */
  readonly trieRootOf?: ((header: Header) => Uint8Array) | undefined;
}

/** A chain that no rollup node or beacon chain drives: it makes its own blocks, goes back to old ones, and its state can be edited. */
export class EditableChain extends StoredChain {
  readonly #editsAfter: EditableChainDeps["editsAfter"];

  /** @throws {CodedError} chain/no-genesis */
  constructor({ editsAfter, trieRootOf, ...dependencies }: EditableChainDeps, options?: ChainOptions) {
    super(
      {
        ...dependencies,
        parentStateOf(parent) {
          const edits = editsAfter(bytesToHex(parent.hash));
          return {
            ...parent,
            prelude: edits && ((execution) => applyStateEdits(execution, edits)),
            trie: trieRootOf === undefined ? parent.trie : { ...parent.trie, stateRoot: trieRootOf(parent.header) },
          };
        },
      },
      options,
    );
    this.#editsAfter = editsAfter;
  }

  /** With the edits. */
  override stateAt(block: BlockId): StateView | undefined {
    const view = super.stateAt(block);
    const edits = view && this.#editsAfter(block.hash);
    return edits === undefined ? view : new EditedState(view!, edits);
  }

  /**
   * Builds the next block on the head, with transactions from the pool unless the attributes say otherwise, and makes it canonical with
   * the labels.
   *
   * @throws {CodedError} chain/unbuildable
   */
  makeBlock(attributes: PayloadAttributes, choices: HeaderChoices, labels: Labels): BuildResult {
    const built = this.building.build(hexToBytes(this.head().hash), attributes, choices);
    if (built.kind !== "built") return built;
    const { executed } = built;
    this.blocks.add(executed);
    this.heads.move(this.blocks.branches.branchOf(executed.hashHex)!, labels);
    return { kind: "built", payload: payloadOf(executed) };
  }

  /**
   * Makes an ancestor the head again, with the labels; those on blocks that leave the chain are dropped. `forkchoiceUpdated` does not go
   * back on an Ethereum chain.
   */
  rewind(number: number, labels: Labels = {}): void {
    const found = this.headerOf({ kind: "number", number });
    if (found === undefined) throw new Error(`there is no block ${number} to go back to`);
    this.heads.move({ forkPoint: { number, hash: bytesToHex(found.hash) }, blocks: [] }, labels);
  }

  /** Tells listeners that the state after the head was edited. */
  announceEdits(): void {
    const nothing = { removed: [], added: [], addedHashes: [], addedSums: { gasUsed: 0, transactions: 0 } };
    this.heads.announce({ head: this.resolve({ kind: "tag", tag: "latest" })!, ...nothing });
  }
}
