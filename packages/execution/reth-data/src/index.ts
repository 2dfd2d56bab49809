export { TarUnpacker } from "./archive/tar-unpacker.ts";
export * from "./archive/wanted-files.ts";
export * from "./errors.ts";
export * from "./open-reth-data.ts";
