export * from "./signer-server.ts";
export * from "./test-certificates.ts";
