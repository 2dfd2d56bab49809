export * from "./independent-kzg.ts";
export * from "./test-blobs.ts";
