export * from "./test-blobs.ts";
