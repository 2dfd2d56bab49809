export * from "./block-signing.ts";
export * from "./local-signer.ts";
export * from "./signer.ts";
