import {
  type AttributesProblem,
  type BlockRun,
  checkAttributes,
  decodeForcedTransactions,
  gasRefundsOfAttributes,
  headerOfAttributes,
  stateUpdate,
  type UnsealedHeader,
} from "@rnode/chain";
import type { StateReader } from "@rnode/evm";
import { INVALID_PARAMS, RpcError, rpcErrorOf } from "@rnode/jsonrpc";
import { bytesToHex, type ExactInteger, type Hex, hexToBytes, isCodedError, keccak256 } from "@rnode/primitives";
import {
  encodeHeader,
  encodeTransaction,
  type GasRefunds,
  type Header,
  type PayloadAttributes,
  PREDEPLOYS,
  recoverSender,
  type Transaction,
} from "@rnode/protocol";
import type { StateView } from "@rnode/storage";
import { readTrie, type TrieNodeReader } from "@rnode/trie";
import { blockIdOf, type HeaderAt, type ReadBackend, requireHeader, requireState, rulesAt } from "../backend/backend.ts";
import type { Work } from "../backend/work.ts";
import { headerToJson } from "../json/block-json.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import type { ExecutionSlot } from "./execution-slots.ts";
import { refundsOf, type TraceService } from "./trace-service.ts";
import type { TraceableBlock } from "./traceable-block.ts";

/** Everything that the execution of one block reads, as hex. */
export interface WitnessJson {
  /** RLP of the trie nodes */
  readonly state: readonly Hex[];
  readonly codes: readonly Hex[];
  /** addresses and storage slots, not hashed; null in the profile that leaves them out */
  readonly keys: readonly Hex[] | null;
  /** RLP of the ancestors, oldest first (the last is the parent); or objects, the parent first */
  readonly headers: readonly (Hex | JsonObject)[];
}

/** The same as it was collected. */
export interface BlockWitness {
  readonly state: readonly Uint8Array[];
  readonly codes: readonly Uint8Array[];
  readonly keys: readonly Hex[];
  /** the parent first */
  readonly ancestors: readonly HeaderAt[];
}

/** A header in the JSON encoding of Geth; absent fields are null. */
const gethHeader = (header: Header, hash: Uint8Array): JsonObject => ({ ...ABSENT, ...headerToJson(header, hash) });

const ABSENT: JsonObject = {
  baseFeePerGas: null,
  withdrawalsRoot: null,
  blobGasUsed: null,
  excessBlobGas: null,
  parentBeaconBlockRoot: null,
  requestsHash: null,
  blockAccessListHash: null,
  slotNumber: null,
};

/** Records the reads of a state. */
class ReadRecorder implements StateReader {
  readonly slots = new Map<Hex, Set<Hex>>();
  readonly codes = new Map<Hex, Uint8Array>();
  /** the lowest block whose hash was requested */
  lowestBlock: number;
  readonly #state: StateView;

  constructor(state: StateView) {
    this.#state = state;
    this.lowestBlock = state.block.number;
  }

  readAccount(address: Uint8Array): ReturnType<StateView["readAccount"]> {
    this.slotsOf(address);
    return this.#state.readAccount(address);
  }

  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    this.slotsOf(address).add(bytesToHex(slot));
    return this.#state.readStorage(address, slot);
  }

  hasStorage(address: Uint8Array): boolean {
    this.slotsOf(address);
    return this.#state.hasStorage(address);
  }

  readCode(codeHash: Uint8Array): Uint8Array {
    const code = this.#state.readCode(codeHash);
    this.codes.set(bytesToHex(codeHash), code);
    return code;
  }

  readBlockHash(number: ExactInteger): Uint8Array | undefined {
    if (typeof number === "number" && number < this.lowestBlock) this.lowestBlock = number;
    return this.#state.readBlockHash(number);
  }

  slotsOf(address: Uint8Array): Set<Hex> {
    const key = bytesToHex(address);
    let slots = this.slots.get(key);
    if (slots === undefined) this.slots.set(key, (slots = new Set()));
    return slots;
  }
}

/** undefined: the signature is invalid */
function senderOf(transaction: Transaction): Uint8Array | undefined {
  try {
    return recoverSender(transaction);
  } catch (error) {
    if (isCodedError(error, "tx/")) return undefined;
    throw error;
  }
}

/** `debug_executionWitness`: what `rengine stateless` needs from the database. */
export class WitnessService {
  readonly #backend: ReadBackend;
  readonly #traces: TraceService;

  constructor(backend: ReadBackend, traces: TraceService) {
    this.#backend = backend;
    this.#traces = traces;
  }

  /** @throws {RpcError} the parent's state or trie is no longer available */
  collect(work: Work, stored: TraceableBlock): Promise<BlockWitness> {
    return this.#traces.inRecordingSlot(work, (slot) => this.#collectIn(slot, stored));
  }

  /** The same in the profile's form. */
  async witnessOf(work: Work, stored: TraceableBlock): Promise<WitnessJson> {
    return this.#jsonOf(await this.collect(work, stored));
  }

  /**
   * `debug_executePayload`: the witness of the block that payload attributes describe, on any block whose state is available. A
   * transaction of the attributes that is invalid in the block is skipped, as in op-reth; a client that executes it reads the
   * same state.
   *
   * @throws {RpcError} unknown parent, unavailable state, attributes that are invalid for every block
   */
  async witnessOfAttributes(work: Work, parentHash: Uint8Array, attributes: PayloadAttributes): Promise<WitnessJson> {
    const { chain } = this.#backend;
    const { header: parent } = requireHeader(this.#backend, { kind: "hash", hash: parentHash, requireCanonical: false });
    const refuse = ({ reason }: AttributesProblem): RpcError => new RpcError(INVALID_PARAMS, reason);
    const rules = rulesAt(this.#backend, { number: parent.number + 1, timestamp: attributes.timestamp, difficulty: 0n });
    const problem = checkAttributes(rules, parent, attributes);
    if (problem !== undefined) throw refuse(problem);
    const decoded = decodeForcedTransactions(rules, attributes);
    if (decoded.kind === "invalid") throw refuse(decoded.problem);
    const header = headerOfAttributes(chain.config, rules, parent, parentHash, attributes, parent.gasLimit);
    const read = gasRefundsOfAttributes(rules, header, attributes, decoded.transactions);
    if (read.kind === "invalid") throw refuse(read.problem);
    const witness = await this.#traces.inRecordingSlot(work, (slot) =>
      this.#collectRun(slot, header, read.refunds, async (run) => {
        for (const transaction of decoded.transactions) {
          await slot.pause();
          const sender = senderOf(transaction);
          if (sender !== undefined) run.apply(transaction, sender, encodeTransaction(transaction));
        }
        return run.finish(attributes.withdrawals, []);
      }),
    );
    return this.#jsonOf(witness);
  }

  #jsonOf({ state, codes, keys, ancestors }: BlockWitness): WitnessJson {
    const { hasKeys, hasHeaderObjects } = this.#backend.profile.witness;
    return {
      state: state.map(bytesToHex),
      codes: codes.map(bytesToHex),
      keys: hasKeys ? keys : null,
      headers: hasHeaderObjects
        ? ancestors.map(({ header, hash }) => gethHeader(header, hash))
        : ancestors.map(({ header }) => bytesToHex(encodeHeader(header))).reverse(),
    };
  }

  #collectIn(slot: ExecutionSlot, stored: TraceableBlock): Promise<BlockWitness> {
    const { block } = stored;
    return this.#collectRun(slot, block.header, refundsOf(block), async (run) => {
      await this.#traces.applyAll(slot, run, stored, 0, block.transactions.length);
      return run.finish(block.withdrawals, block.ommers);
    });
  }

  /** @param execute runs the whole block */
  async #collectRun(
    slot: ExecutionSlot,
    header: UnsealedHeader,
    gasRefunds: GasRefunds | undefined,
    execute: (run: BlockRun) => Promise<ReturnType<BlockRun["finish"]>>,
  ): Promise<BlockWitness> {
    if (header.number === 0) throw rpcErrorOf(this.#backend.profile.errors.genesisNotTraceable);
    const parentSelector = { kind: "hash", hash: header.parentHash, requireCanonical: false } as const;
    const parent = requireState(this.#backend, parentSelector);
    const nodes = this.#backend.chain.trieNodesAt(blockIdOf(parent));
    if (nodes === undefined) throw rpcErrorOf(this.#backend.profile.errors.proofUnavailable(parentSelector));

    const reads = new ReadRecorder(parent.state.forNextBlock?.() ?? parent.state);
    const run = this.#traces.beginBlockOn(slot, header, reads, gasRefunds);
    const finished = await execute(run);
    if (finished.kind === "invalid") throw new Error(`block ${header.number} is invalid when run again: ${finished.fault.rule}`);
    // from Isthmus on, the header contains its storage root
    if (run.execution.rules.op !== undefined) reads.slotsOf(PREDEPLOYS.l2ToL1MessagePasser);

    const seen = new Map<Hex, Uint8Array>();
    // PERF: all keys share the nodes near the root, and one of an old state is restored from several rows.
    const recording: TrieNodeReader = {
      readNode(owner, path, hash) {
        const key = bytesToHex(hash);
        let rlp = seen.get(key);
        if (rlp === undefined) {
          rlp = nodes.readNode(owner, path, hash);
          if (rlp !== undefined) seen.set(key, rlp);
        }
        return rlp;
      },
    };
    const { stateRoot } = parent.header;
    const storageRootOf = (address: Uint8Array) => parent.state.readAccount(address)?.storageRoot;
    for (const [key, slots] of reads.slots) {
      slot.check();
      const address = hexToBytes(key);
      const owner = keccak256(address);
      readTrie(recording, undefined, stateRoot, owner);
      const root = storageRootOf(address);
      if (root !== undefined) for (const place of slots) readTrie(recording, owner, root, keccak256(hexToBytes(place)));
    }
    // Deletions merge nodes, which also reads nodes next to the changed paths.
    stateUpdate({ stateRoot, nodes: recording, storageRootOf }, finished.result.changes);
    return {
      state: [...seen.values()],
      codes: [...reads.codes.values()],
      keys: [...reads.slots].flatMap(([address, slots]) => [address, ...slots]),
      ancestors: this.#ancestors(parent.hash, parent.header.number, reads.lowestBlock),
    };
  }

  /** Newest first: the parent, and those before it down to the lowest. */
  #ancestors(parentHash: Uint8Array, parentNumber: number, lowest: number): HeaderAt[] {
    const ancestors: HeaderAt[] = [];
    let hash = parentHash;
    for (let number = parentNumber; number >= lowest; number--) {
      const { header } = requireHeader(this.#backend, { kind: "hash", hash, requireCanonical: false });
      ancestors.push({ hash, header });
      hash = header.parentHash;
    }
    return ancestors;
  }
}
