export * from "./worker-host.ts";
