export * from "./bytes.ts";
export * from "./clock.ts";
export * from "./errors.ts";
export * from "./hash.ts";
export * from "./lru-cache.ts";
export * from "./quantity.ts";
export * from "./rlp.ts";
export * from "./secp256k1.ts";
