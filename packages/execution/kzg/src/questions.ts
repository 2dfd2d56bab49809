import { verifyBlobProof } from "./blob-verifier.ts";
import type { KzgContext } from "./context.ts";
import type { CellsAndProofs, ProvedCell } from "./kzg.ts";

/** A request to the thread: one blob at a time, so no request takes longer than a third of a second. */
export type KzgQuestion =
  | { readonly kind: "load" }
  | { readonly kind: "commitment"; readonly blob: Uint8Array }
  | { readonly kind: "blob-proof"; readonly blob: Uint8Array; readonly commitment: Uint8Array }
  | { readonly kind: "verify-blob"; readonly blob: Uint8Array; readonly commitment: Uint8Array; readonly proof: Uint8Array }
  | { readonly kind: "cells"; readonly blob: Uint8Array }
  | {
      readonly kind: "verify-blob-cells";
      readonly blob: Uint8Array;
      readonly commitment: Uint8Array;
      readonly proofs: readonly Uint8Array[];
    }
  | { readonly kind: "verify-cells"; readonly cells: readonly ProvedCell[] };

/** `undefined` where the bytes are no blob, no points or no cells. */
export interface KzgAnswers {
  readonly load: undefined;
  readonly commitment: Uint8Array | undefined;
  readonly "blob-proof": Uint8Array | undefined;
  readonly "verify-blob": boolean | undefined;
  readonly cells: CellsAndProofs | undefined;
  readonly "verify-blob-cells": boolean | undefined;
  readonly "verify-cells": boolean | undefined;
}

export type KzgAnswer = KzgAnswers[KzgQuestion["kind"]];

/** From this number of blob proofs on, loading the trusted setup is faster in total. */
const PROOFS_WITHOUT_LIBRARY = 200;

/** Answers questions with the library, whose trusted setup is loaded for the first one that needs it. */
export class KzgAnswerer {
  readonly #load: () => KzgContext;
  #library: KzgContext | undefined;
  #proofs = 0;

  constructor(load: () => KzgContext) {
    this.#load = load;
  }

  answer(question: KzgQuestion): KzgAnswer {
    const isProof = question.kind === "verify-blob";
    if (isProof && this.#library === undefined && ++this.#proofs <= PROOFS_WITHOUT_LIBRARY)
      return verifyBlobProof(question.blob, question.commitment, question.proof);
    this.#library ??= this.#load();
    return answerQuestion(this.#library, question);
  }
}

/** The library throws only on malformed bytes. */
function answerQuestion(kzg: KzgContext, question: KzgQuestion): KzgAnswer {
  try {
    switch (question.kind) {
      case "load":
        return undefined;
      case "commitment":
        return kzg.blobToKzgCommitment(question.blob);
      case "blob-proof":
        return kzg.computeBlobKzgProof(question.blob, question.commitment);
      case "verify-blob":
        return kzg.verifyBlobKzgProof(question.blob, question.commitment, question.proof);
      case "cells": {
        const { cells, proofs } = kzg.computeCellsAndKzgProofs(question.blob);
        return { cells, proofs };
      }
      case "verify-blob-cells": {
        const cells = kzg.computeCells(question.blob);
        return kzg.verifyCellKzgProofBatch(
          cells.map(() => question.commitment),
          cells.map((_, index) => index),
          cells,
          [...question.proofs],
        );
      }
      case "verify-cells":
        return kzg.verifyCellKzgProofBatch(
          question.cells.map(({ commitment }) => commitment),
          question.cells.map(({ index }) => index),
          question.cells.map(({ cell }) => cell),
          question.cells.map(({ proof }) => proof),
        );
    }
  } catch {
    return undefined;
  }
}
