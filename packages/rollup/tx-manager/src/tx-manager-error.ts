import { codedErrors } from "@rnode/primitives";

export type TxManagerErrorCode =
  /** a blob has an element that is not below the modulus, or the wrong length */
  | "tx-manager/not-a-blob"
  /** a candidate carries blobs, but the manager was made without a prover */
  | "tx-manager/no-prover";

export class TxManagerError extends codedErrors<TxManagerErrorCode>({
  "tx-manager/not-a-blob": "blob {index} is not a blob: each of its 4096 elements must be below the modulus of BLS12-381",
  "tx-manager/no-prover": "the transaction carries blobs, but nothing here makes their proofs",
}) {}
