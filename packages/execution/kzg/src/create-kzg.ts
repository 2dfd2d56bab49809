import { isCompiled, type ThreadOverrides } from "@rnode/threads";
import { type KzgContext, kzgContext, loadKzgLibrary } from "./context.ts";
import type { CellsAndProofs, Kzg, ProvedCell } from "./kzg.ts";
import { KzgError } from "./kzg-error.ts";
import { KzgThreads } from "./kzg-threads.ts";
import { KzgAnswerer, type KzgAnswers, type KzgQuestion } from "./questions.ts";

export interface KzgOptions {
  /** how many threads at most; default 1 */
  readonly threads?: number | undefined;
  /** questions of one blob each that may wait for a thread; default 1,024 (128 MiB) */
  readonly maxWaiting?: number | undefined;
  /** 100 MB of tables per thread, with which cell proofs take two thirds of the time; for programs that make them */
  readonly precompute?: boolean | undefined;
}

const DEFAULT_MAX_WAITING = 1_024;

type Ask = <Q extends KzgQuestion>(question: Q) => Promise<KzgAnswers[Q["kind"]]>;

/**
 * Commitments and proofs, computed in threads that start with the first question. Where the program runs from its sources (in tests),
 * there is no file that a thread could load, and they are computed in the caller's thread.
 *
 * @throws {KzgError} kzg/unsupported-platform
 */
export function createKzg({ threads = 1, maxWaiting = DEFAULT_MAX_WAITING, precompute = false }: KzgOptions = {}): Kzg {
  loadKzgLibrary();
  return isCompiled(import.meta.url) ? inThreads(new KzgThreads(threads, maxWaiting, { precompute })) : inThisThread(kzgContext);
}

/** For tests of the threads. */
export function createThreadedKzg(options: KzgOptions, overrides: ThreadOverrides): Kzg {
  const { threads = 1, maxWaiting = DEFAULT_MAX_WAITING, precompute = false } = options;
  return inThreads(new KzgThreads(threads, maxWaiting, { precompute }, overrides));
}

function inThreads(threads: KzgThreads): Kzg {
  const ask: Ask = async <Q extends KzgQuestion>(question: Q) => (await threads.ask(question)) as KzgAnswers[Q["kind"]];
  return kzgOver(ask, () => threads.close());
}

function inThisThread(context: () => KzgContext): Kzg {
  const answerer = new KzgAnswerer(context);
  let isClosed = false;
  const ask: Ask = async <Q extends KzgQuestion>(question: Q) => {
    if (isClosed) throw new KzgError("kzg/closed");
    return answerer.answer(question) as KzgAnswers[Q["kind"]];
  };
  return kzgOver(ask, async () => {
    isClosed = true;
  });
}

function kzgOver(ask: Ask, close: () => Promise<void>): Kzg {
  const ofBlob = <T>(answer: T | undefined): T => {
    if (answer === undefined) throw new KzgError("kzg/not-a-blob");
    return answer;
  };
  return {
    load: () => void ask({ kind: "load" }).catch(() => {}), // later requests report the error
    commitment: (blob) => ask({ kind: "commitment", blob }),
    verifyBlobProof: async (blob, commitment, proof) => (await ask({ kind: "verify-blob", blob, commitment, proof })) ?? false,
    blobProof: async (blob, commitment) => ofBlob(await ask({ kind: "blob-proof", blob, commitment })),
    cellsAndProofs: async (blob): Promise<CellsAndProofs> => ofBlob(await ask({ kind: "cells", blob })),
    verifyBlobCells: async (blob, commitment, proofs) =>
      (await ask({ kind: "verify-blob-cells", blob, commitment, proofs })) ?? false,
    verifyCellProofs: async (cells: readonly ProvedCell[]) => (await ask({ kind: "verify-cells", cells })) ?? false,
    close,
  };
}
