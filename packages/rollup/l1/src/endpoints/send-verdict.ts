/** The meaning of an L1 client's answer to `eth_sendRawTransaction`. */
export type SendVerdict =
  /** it has the transaction */
  | "accepted"
  /** the nonce is already used by a transaction in the chain */
  | "nonce-too-low"
  /** another transaction with this nonce is in the pool and pays as much, or the pool demands more */
  | "underpriced"
  /** the account cannot pay */
  | "insufficient-funds"
  /** the pool holds a transaction of the other kind (with or without blobs) of this account, and takes only one kind at a time */
  | "address-reserved"
  /** it requires other proofs of the blobs: of cells, or of whole blobs */
  | "wrong-sidecar"
  /** its gas limit is below L1's gas before execution */
  | "too-little-gas"
  /** anything else: try again later */
  | "refused";

// The texts of Geth, Reth, Nethermind, Besu, Erigon and anvil, which have no codes for these cases.
const VERDICTS: readonly (readonly [RegExp, SendVerdict])[] = [
  [/already ?known|known transaction|already imported|AlreadyKnown/i, "accepted"],
  [/nonce (is )?too low|OldNonce|nonce below|lower than the current nonce/i, "nonce-too-low"],
  [/underpriced|too low to replace|ReplacementNotAllowed|fee too low|less than block base fee|FeeTooLow/i, "underpriced"],
  [/already reserved|address is reserved|conflicts with existing transaction type/i, "address-reserved"],
  [
    /(unexpected|unsupported|invalid|wrong).{0,40}sidecar|sidecar (of )?version|sidecar (before|after)|cell proofs?|proofs? version/i,
    "wrong-sidecar",
  ],
  [/intrinsic.?gas|floor.?(data.?)?gas|gas.?floor|GasFloor/i, "too-little-gas"],
  [/insufficient (funds|balance)|upfront cost exceeds|InsufficientFunds/i, "insufficient-funds"],
];

export function sendVerdictOf(message: string): SendVerdict {
  return VERDICTS.find(([pattern]) => pattern.test(message))?.[1] ?? "refused";
}
