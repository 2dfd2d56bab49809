import type { L1Provider } from "@rnode/derivation";
import { RpcError, withRpcErrors } from "@rnode/jsonrpc";
import type { L2Block } from "@rnode/node-clients";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { type L2BlockRef, type OutputParts, type RollupConfig, replacedOutput, rollupRulesAt } from "@rnode/protocol";
import { type DerivedPair, toBlockRef } from "./managed-event.ts";

/** As op-node's managed mode answers. */
export const BLOCK_NOT_FOUND = -39001;
export const CONFLICTING_BLOCK = -39002;
const INTEROP_INACTIVE = -39003;

export interface BlockReadsDeps {
  readonly config: RollupConfig;
  readonly l1: Pick<L1Provider, "blockByHash" | "blockByNumber">;
  readonly l2: {
    blockByNumber(number: number): Promise<L2Block | undefined>;
    blockByHash(hash: Hex): Promise<L2Block | undefined>;
    messagePasserStorageRoot(block: L2Block): Promise<Uint8Array>;
    receiptsJson(block: L2Block): Promise<readonly unknown[]>;
  };
  /** the L1 block whose data made the first safe block above `base`; undefined: not recorded */
  readonly firstSourceAfter: (base: L2BlockRef) => Hex | undefined;
}

export interface OutputJson {
  readonly stateRoot: Hex;
  readonly messagePasserStorageRoot: Hex;
  readonly blockHash: Hex;
}

const outputToJson = ({ stateRoot, messagePasserStorageRoot, blockHash }: OutputParts): OutputJson => ({
  stateRoot: bytesToHex(stateRoot),
  messagePasserStorageRoot: bytesToHex(messagePasserStorageRoot),
  blockHash: bytesToHex(blockHash),
});

const notFound = (what: string): RpcError => new RpcError(BLOCK_NOT_FOUND, `${what} not found`);

/** What a supervisor reads of the L2 chain. Spec: docs/protocol/05-services.md#managed-node-server */
export class BlockReads {
  private readonly deps: BlockReadsDeps;

  constructor(deps: BlockReadsDeps) {
    this.deps = deps;
  }

  get chainId(): bigint {
    return this.deps.config.l2ChainId;
  }

  /** @throws {RpcError} */
  async blockByNumber(number: number): Promise<L2Block> {
    const block = await withRpcErrors(() => this.deps.l2.blockByNumber(number));
    if (block === undefined) throw notFound(`block ${number}`);
    return block;
  }

  /** @throws {RpcError} */
  async blockByTimestamp(timestampSec: number): Promise<L2Block> {
    const { genesis, blockTimeSec } = this.deps.config;
    if (timestampSec < genesis.l2TimeSec) throw notFound(`a block of ${timestampSec}, before the genesis at ${genesis.l2TimeSec},`);
    return this.blockByNumber(genesis.l2.number + Math.floor((timestampSec - genesis.l2TimeSec) / blockTimeSec));
  }

  /** The receipts as the execution client has them, checked against the block's receipts root. @throws {RpcError} */
  async receipts(hash: Hex): Promise<readonly unknown[]> {
    const block = await withRpcErrors(() => this.deps.l2.blockByHash(hash));
    if (block === undefined) throw notFound(`block ${hash}`);
    return withRpcErrors(() => this.deps.l2.receiptsJson(block));
  }

  /** @throws {RpcError} */
  async output(timestampSec: number): Promise<OutputJson> {
    return this.outputOf(await this.blockByTimestamp(timestampSec));
  }

  /** The output of the block that was at this height first, should it have been replaced. @throws {RpcError} */
  async pendingOutput(timestampSec: number): Promise<OutputJson> {
    const block = await this.blockByTimestamp(timestampSec);
    const replaced = replacedOutput(block.envelope.executionPayload.transactions);
    return replaced === undefined ? this.outputOf(block) : outputToJson(replaced);
  }

  /** The first block whose messages count, and where it came from. @throws {RpcError} */
  async anchorPoint(): Promise<DerivedPair> {
    const { config, l1 } = this.deps;
    const { genesis, blockTimeSec, forkTimes } = config;
    const isActiveAt = (timestamp: number): boolean => rollupRulesAt(forkTimes, timestamp).hasExecutingMessages;
    let sourceHash: Hex | undefined;
    let number = genesis.l2.number;
    if (isActiveAt(genesis.l2TimeSec)) {
      sourceHash = genesis.l1.hash;
    } else {
      const activationSec = activationTime(forkTimes, isActiveAt);
      if (activationSec === undefined) throw new RpcError(INTEROP_INACTIVE, "Interop is not scheduled");
      number += Math.ceil((activationSec - genesis.l2TimeSec) / blockTimeSec);
      const parent = await withRpcErrors(() => this.deps.l2.blockByNumber(number - 1));
      sourceHash = parent && this.deps.firstSourceAfter(parent.ref);
    }
    const source = sourceHash && (await withRpcErrors(() => l1.blockByHash(sourceHash)));
    if (source === undefined) {
      const reason = `Interop inactive at genesis, and it is not recorded what block ${number} was derived from: --safedb.path keeps such records`;
      throw new RpcError(INTEROP_INACTIVE, reason);
    }
    return { source: toBlockRef(source), derived: toBlockRef((await this.blockByNumber(number)).ref) };
  }

  private async outputOf(block: L2Block): Promise<OutputJson> {
    const { stateRoot, withdrawalsRoot, timestamp } = block.header;
    const { hasMessagePasserRoot } = rollupRulesAt(this.deps.config.forkTimes, timestamp);
    const messagePasserStorageRoot =
      hasMessagePasserRoot && withdrawalsRoot !== undefined
        ? withdrawalsRoot
        : await withRpcErrors(() => this.deps.l2.messagePasserStorageRoot(block));
    return outputToJson({ stateRoot, messagePasserStorageRoot, blockHash: block.envelope.executionPayload.blockHash });
  }
}

/** The scheduled time from which messages are executed; undefined: none. */
function activationTime(forkTimes: RollupConfig["forkTimes"], isActiveAt: (timestamp: number) => boolean): number | undefined {
  const times = Object.values(forkTimes).filter((time) => isActiveAt(time));
  return times.length === 0 ? undefined : Math.min(...times);
}
