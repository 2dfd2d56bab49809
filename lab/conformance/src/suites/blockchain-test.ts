import { basename } from "node:path";
import {
  createSenderCache,
  type ExecutedBlock,
  type ExecutionContext,
  executeBlock,
  genesisBlock,
  LayeredState,
  layeredNodes,
  newEngine,
  type ParentState,
  PreparedBlock,
  StateLayers,
  type StateView,
  stateLayerOf,
} from "@rnode/chain";
import { bytesToHex, type CodedError, type Hex, hexToBytes, isCodedError } from "@rnode/primitives";
import { type Block, type ChainConfig, decodeBlock, type Genesis, type Header, hashHeader, parseAlloc } from "@rnode/protocol";
import {
  type CaseResult,
  jsonFilesBelow,
  type NoteUncompared,
  readJsonFile,
  reportOf,
  resultOf,
  type SuiteReport,
} from "../vectors.ts";
import { wrongRefusal } from "./expected-exceptions.ts";
import { chainConfigOfSuite, isKnownNetwork, type SuiteConfig } from "./suite-forks.ts";

interface TestBlock {
  readonly rlp: string;
  /** the block must be rejected */
  readonly expectException?: string | readonly string[];
}

interface BlockchainCase {
  readonly network: string;
  readonly genesisRLP: string;
  readonly pre: unknown;
  readonly blocks: readonly TestBlock[];
  readonly lastblockhash: string;
  readonly postState?: unknown;
  readonly postStateHash?: string;
  readonly config?: SuiteConfig;
}

/**
 * `BlockchainTests` of ethereum/tests and `blockchain_tests` of execution-spec-tests: every block is executed on its parent, invalid
 * blocks must be rejected for the expected reason, and the last block must be the expected one with the expected state.
 */
export function runBlockchainTests(folder: string): SuiteReport {
  const engine = newEngine();
  const results: CaseResult[] = [];
  const skipped: string[] = [];
  for (const path of jsonFilesBelow(folder)) {
    for (const [name, test] of Object.entries(readJsonFile(path) as Record<string, BlockchainCase>)) {
      const title = `${basename(path)} ${name}`;
      if (!isKnownNetwork(test.network)) skipped.push(`${title}: network ${test.network}`);
      else {
        const run = (note: NoteUncompared) =>
          runCase(test, { config: chainConfigOfSuite(test.network, test.config)!, engine, ...CONTEXT }, note);
        results.push(resultOf(title, run));
      }
    }
  }
  return { ...reportOf(results), skipped };
}

const CONTEXT = {
  senders: createSenderCache(),
  create2DeployerCode: (): Uint8Array => {
    throw new Error("an Ethereum chain has no Canyon");
  },
};

function runCase(test: BlockchainCase, context: ExecutionContext, note: NoteUncompared): string | undefined {
  const { header } = decodeBlock(hexToBytes(test.genesisRLP));
  const chain = new MemoryChain(genesisOfTest(header, test.pre), context);
  if (chain.lastHash !== bytesToHex(hashHeader(header))) return `genesis: computed ${chain.lastHash}`;
  for (const [index, { rlp, expectException }] of test.blocks.entries()) {
    const refusal = chain.add(rlp);
    if (refusal !== undefined && expectException === undefined) return `block ${index}: ${refusal}`;
    if (refusal === undefined && expectException !== undefined)
      return `block ${index}: accepted, expected ${String(expectException)}`;
    const wrong = refusal === undefined || expectException === undefined ? undefined : wrongRefusal(expectException, refusal, note);
    if (wrong !== undefined) return `block ${index}: ${wrong}`;
  }
  if (chain.lastHash !== test.lastblockhash) return `last block ${chain.lastHash}, expected ${test.lastblockhash}`;
  const expectedRoot =
    test.postState === undefined
      ? test.postStateHash
      : bytesToHex(genesisBlock(genesisOfTest(header, test.postState), context.config).block.header.stateRoot);
  const root = bytesToHex(chain.last.block.header.stateRoot);
  return expectedRoot === undefined || root === expectedRoot ? undefined : `state root ${root}, expected ${expectedRoot}`;
}

export function genesisOfTest(header: Header, alloc: unknown): Genesis {
  const { baseFeePerGas, blobGasUsed, excessBlobGas, parentBeaconBlockRoot } = header;
  return {
    config: undefined,
    header: { ...header, baseFeePerGas, blobGasUsed, excessBlobGas, parentBeaconBlockRoot },
    alloc: parseAlloc(alloc, "alloc"),
  };
}

const EMPTY_STATE: StateView = {
  block: { hash: `0x${"00".repeat(32)}`, number: -1 },
  readAccount: () => undefined,
  readStorage: () => undefined,
  hasStorage: () => false,
  readCode(codeHash) {
    throw new Error(`no code ${bytesToHex(codeHash)}`);
  },
  readBlockHash: () => undefined,
};

/** All blocks in memory; a state is a stack of layers on top of the empty one. */
class MemoryChain {
  readonly #context: ExecutionContext;
  readonly #blocks = new Map<Hex, ExecutedBlock>();
  last: ExecutedBlock;

  constructor(genesis: Genesis, context: ExecutionContext & { readonly config: ChainConfig }) {
    this.#context = context;
    const commit = genesisBlock(genesis, context.config);
    const parentHashHex = bytesToHex(commit.block.header.parentHash);
    const prepared = new PreparedBlock(commit.block);
    this.last = { ...commit, prepared, hashHex: prepared.hashHex, parentHashHex, requests: [], tipsWei: 0n };
    this.#blocks.set(this.last.hashHex, this.last);
  }

  get lastHash(): Hex {
    return this.last.hashHex;
  }

  /** @returns why the block was rejected */
  add(rlp: string): string | undefined {
    let block: Block;
    try {
      block = decodeBlock(hexToBytes(rlp));
    } catch (error) {
      if (isCodedError(error)) return `${error.code} ${(error as CodedError).message}`;
      throw error;
    }
    const parent = this.#stateAfter(bytesToHex(block.header.parentHash));
    if (parent === undefined) return "unknown parent";
    const verdict = executeBlock(this.#context, parent, new PreparedBlock(block));
    if (verdict.kind === "invalid") return `${verdict.fault.rule} ${JSON.stringify(verdict.fault.data, printable)}`;
    this.#blocks.set(verdict.executed.hashHex, verdict.executed);
    this.last = verdict.executed;
    return undefined;
  }

  #stateAfter(hashHex: Hex): ParentState | undefined {
    const executed = this.#blocks.get(hashHex);
    if (executed === undefined) return undefined;
    const layers = [];
    for (let at: ExecutedBlock | undefined = executed; at !== undefined; at = this.#blocks.get(at.parentHashHex)) {
      layers.push(stateLayerOf(at));
    }
    const { header } = executed.block;
    const stack = new StateLayers(layers.reverse());
    const view = new LayeredState({ hash: hashHex, number: header.number }, EMPTY_STATE, stack);
    const nodes = layeredNodes({ readNode: () => undefined }, stack);
    const storageRootOf = (address: Uint8Array): Uint8Array | undefined => view.readAccount(address)?.storageRoot;
    const trie = { stateRoot: header.stateRoot, nodes, storageRootOf };
    const ancestorOf = (hash: Uint8Array): Block | undefined => this.#blocks.get(bytesToHex(hash))?.block;
    const totalDifficulty = (): bigint => {
      let total = 0n;
      for (let at: ExecutedBlock | undefined = executed; at !== undefined; at = this.#blocks.get(at.parentHashHex)) {
        total += at.block.header.difficulty;
      }
      return total;
    };
    return { header, hash: executed.hash, reader: view, trie, ancestorOf, totalDifficulty };
  }
}

const printable = (_key: string, value: unknown): unknown => (typeof value === "bigint" ? value.toString() : value);
