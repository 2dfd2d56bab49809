export * from "./block-signing.ts";
export * from "./local-signer.ts";
export * from "./open-signer.ts";
export { RemoteSigner, signingLimitMs } from "./remote/remote-signer.ts";
export * from "./signer.ts";
export * from "./signer-options.ts";
