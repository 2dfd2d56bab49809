export * from "./node-reader.ts";
