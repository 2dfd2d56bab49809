/** Offsets in the rows of a `GenesisState`: hash of the address 32 ‖ hash of the slot 32 ‖ slot 32 ‖ value 32. */
export const SLOT_ROW = { hashAt: 32, slotAt: 64, valueAt: 96, bytes: 128 } as const;
/** Hash of the address 32 ‖ address 20 ‖ nonce 8 ‖ balance 32 ‖ code hash 32. */
export const ACCOUNT_ROW = { addressAt: 32, nonceAt: 52, balanceAt: 60, codeHashAt: 92, bytes: 124 } as const;
