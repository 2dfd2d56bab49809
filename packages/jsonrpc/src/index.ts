export * from "./jwt.ts";
export * from "./jwt-secret-file.ts";
export * from "./rpc-client.ts";
export * from "./rpc-error.ts";
