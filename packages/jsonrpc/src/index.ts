export * from "./dialect.ts";
export type { HealthReport } from "./http-listener.ts";
export * from "./jwt.ts";
export * from "./jwt-secret-file.ts";
export * from "./method-table.ts";
export * from "./rpc-client.ts";
export * from "./rpc-error.ts";
export * from "./rpc-server.ts";
export * from "./shape.ts";
