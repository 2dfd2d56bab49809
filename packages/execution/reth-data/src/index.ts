export { isLz4, type Lz4Progress, Lz4Stream } from "./archive/lz4-stream.ts";
export { TarUnpacker } from "./archive/tar-unpacker.ts";
export * from "./archive/wanted-files.ts";
export * from "./errors.ts";
export * from "./open-reth-data.ts";
