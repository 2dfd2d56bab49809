declare const unit: unique symbol;

/**
 * Amounts for people and metrics, rounded to a number's precision. Only the functions here create them, so amounts in wei cannot
 * be mixed up with them.
 */
export type Ether = number & { readonly [unit]: "ether" };
export type Gwei = number & { readonly [unit]: "gwei" };

export const etherOf = (wei: bigint): Ether => (Number(wei) / 1e18) as Ether;
export const gweiOf = (wei: bigint): Gwei => (Number(wei) / 1e9) as Gwei;
