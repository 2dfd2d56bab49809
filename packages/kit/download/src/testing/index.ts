export * from "./flaky-server.ts";
