import { setImmediate as nextTurn } from "node:timers/promises";
import { ChainError, type ComputedRoots, GenesisState, initFirstBlock, type RowCounts, SortedStateRun } from "@rnode/chain";
import { asciiToBytes, bytesToHex, concatBytes, equalBytes, keccak256 } from "@rnode/primitives";
import { type CommandIo, UserError } from "@rnode/program";
import { outputRoot, PREDEPLOYS } from "@rnode/protocol";
import { restoreCommits } from "@rnode/snapshot";
import type { ChainDatabase, GenesisRows, StateRun } from "@rnode/storage";
import { hasThreads } from "@rnode/threads";
import { describing } from "./describing.ts";
import { RowProgress } from "./row-progress.ts";
import type { LinesSource, SortedSource, StateSource } from "./state-source.ts";
import type { Target } from "./target.ts";
import { ThreadedRun } from "./threaded-run.ts";

interface WriteOptions {
  /** for temporary files */
  readonly folder: string;
  /** ends it; what was written is continued by the next attempt */
  readonly signal?: AbortSignal | undefined;
  /** that the state must have together with its block */
  readonly outputRoot?: Uint8Array | undefined;
  /** Addresses and slots are stored, if they are known. */
  readonly preimages?: boolean | undefined;
}

/** Writes a state whose root is that of its block, and nothing otherwise. @throws {UserError} */
export async function writeState(
  store: ChainDatabase,
  source: StateSource,
  target: Target,
  options: WriteOptions,
  io: CommandIo,
): Promise<RowCounts> {
  if (source.kind === "sorted") return writeSorted(store, source, target, options, io);
  if (source.kind === "peers") {
    const report = new RowProgress(io, "reading");
    const { stateRoot } = target.block.header;
    const read = await source.read(
      () => stateRoot,
      (counts) => report.at(counts),
    );
    return writeSorted(store, { ...source, ...read }, target, options, io);
  }
  const state = new GenesisState({ folder: options.folder });
  try {
    const rows = await readRows(source, state, target, options, io);
    const shared = state.share(options.preimages === true);
    const sorted = { state: state.sorted(), rows, shared: shared && { kind: "rows" as const, ...shared } };
    return await writeSorted(store, { ...source, ...sorted }, target, options, io);
  } finally {
    state.close();
  }
}

type Rows = Pick<SortedSource, "state" | "rows" | "shared"> & Pick<StateSource, "name" | "discard">;

/** As `writeState`, of rows that are sorted. @throws {UserError}; the signal's reason */
export async function writeSorted(
  store: ChainDatabase,
  source: Rows,
  target: Target,
  options: WriteOptions,
  io: CommandIo,
): Promise<RowCounts> {
  const check = checkOf(source, target, options);
  const { state, shared } = source;
  const runOptions = { id: idOf(source, target), account: keccak256(MESSAGE_PASSER), check };
  const run =
    shared !== undefined && hasThreads(import.meta.url)
      ? new ThreadedRun(shared, (codeHash) => state.code(codeHash), runOptions)
      : new SortedStateRun(state, runOptions);
  try {
    const commits = write(store, target, reporting(run, source, io), io);
    while (!describing(() => commits.next().done === true)) {
      await nextTurn();
      options.signal?.throwIfAborted();
    }
  } catch (error) {
    if (error instanceof UserError) source.discard();
    throw error;
  } finally {
    if (run instanceof ThreadedRun) await run.close();
  }
  return run.counts;
}

const MESSAGE_PASSER = PREDEPLOYS.l2ToL1MessagePasser;

/** Names a run: the rows of another source, or for another block, are not continued. */
function idOf({ name, rows }: Rows, { hash }: Target): Uint8Array {
  return keccak256(concatBytes(hash, asciiToBytes(`${rows.accounts} ${rows.slots} ${encodeURI(name)}`)));
}

/** The same run, which reports how far it is. */
function reporting(run: SortedStateRun | ThreadedRun, { rows }: Rows, io: CommandIo): StateRun<GenesisRows> {
  return {
    id: run.id,
    *steps(sink, from) {
      const report = new RowProgress(io, "writing", rows.accounts + rows.slots);
      let isFirst = true;
      for (const _ of run.steps(sink, from)) {
        if (isFirst && from !== undefined) io.err(`went on after ${describe(run.counts)} of an earlier attempt`);
        isFirst = false;
        report.at(run.counts);
        yield;
      }
    },
    progress: () => run.progress(),
  };
}

/** Compares the roots of all rows with those that are wanted. Throws chain/wrong-state, so that the written rows are removed. */
function checkOf(
  { name, rows }: Rows,
  { block, hash }: Target,
  { outputRoot: wanted }: WriteOptions,
): (roots: ComputedRoots) => void {
  const { number, stateRoot: expected } = block.header;
  return ({ stateRoot, storageRoot }) => {
    const wrong = (reason: string): ChainError =>
      new ChainError("chain/wrong-state", { reason: `${name}: ${reason}: nothing of it was kept` });
    if (!equalBytes(stateRoot, expected)) {
      throw wrong(
        `its ${describe(rows)} have the state root ${bytesToHex(stateRoot)}, and that of block ${number} is ${bytesToHex(expected)}`,
      );
    }
    const output = outputRoot({ stateRoot, messagePasserStorageRoot: storageRoot, blockHash: hash });
    if (wanted === undefined || equalBytes(output, wanted)) return;
    throw wrong(`the output root of block ${number} is ${bytesToHex(output)}, and --output-root says ${bytesToHex(wanted)}`);
  };
}

/** @throws {UserError} the lines name another state root, or cannot be read */
async function readRows(
  source: LinesSource & Pick<StateSource, "name">,
  state: GenesisState,
  { block }: Target,
  { folder }: WriteOptions,
  io: CommandIo,
): Promise<RowCounts> {
  const report = new RowProgress(io, "reading");
  const onProgress = (counts: RowCounts, share: number | undefined): void => report.at(counts, share);
  const { number, stateRoot } = block.header;
  const { accounts, slots, root } = await source.readInto(state, { folder, onProgress });
  if (root !== undefined && !equalBytes(root, stateRoot)) {
    throw new UserError(
      `${source.name}: it is the state ${bytesToHex(root)}, and that of block ${number} is ${bytesToHex(stateRoot)}`,
    );
  }
  return { accounts, slots };
}

function* write(
  store: ChainDatabase,
  { block, hash, genesis, lastBlocks }: Target,
  state: StateRun<GenesisRows>,
  io: CommandIo,
): Generator<void, void> {
  const startsAnew =
    lastBlocks === undefined
      ? initFirstBlock(store, { block, hash, write: state }) === "again"
      : yield* restoreCommits(store, {
          manifest: { genesis, header: block.header, hash, oldestBlock: lastBlocks.oldestBlock },
          blocks: () => lastBlocks.blocks(),
          hasReceipts: lastBlocks.hasReceipts,
          state,
        });
  if (startsAnew) io.err("an earlier attempt had been interrupted: what was there of it was removed");
}

const describe = ({ accounts, slots }: RowCounts): string => `${accounts} accounts and ${slots} slots`;
