/** Codes of the reasons why a simulation ends without a result. Spec: execution-apis, eth_simulateV1 */
export const SIMULATION_CODES = {
  "nonce-max": -32603,
  "nonce-too-low": -38010,
  "nonce-too-high": -38011,
  "fee-below-base-fee": -38012,
  "intrinsic-gas": -38013,
  "insufficient-funds": -38014,
  "block-gas-limit": -38015,
  "number-order": -38020,
  "time-order": -38021,
  "initcode-too-large": -38025,
  "client-limit": -38026,
} as const;
