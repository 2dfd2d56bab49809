declare const unit: unique symbol;

/** Amounts for people and metrics, rounded to what a number holds. Only the functions here make them, so that no amount in wei takes their place. */
export type Ether = number & { readonly [unit]: "ether" };
export type Gwei = number & { readonly [unit]: "gwei" };

export const etherOf = (wei: bigint): Ether => (Number(wei) / 1e18) as Ether;
export const gweiOf = (wei: bigint): Gwei => (Number(wei) / 1e9) as Gwei;
