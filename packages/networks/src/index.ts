export * from "./api.ts";
export * from "./compare-networks.ts";
export * from "./find-network.ts";
export { openRegistry } from "./open-registry.ts";
export { type BadFile, CONFIGS, chainPaths, type RegistryContent, readNetwork, readRegistry } from "./registry-config.ts";
export * from "./registry-error.ts";
export { readBounded, registryFolder } from "./registry-folder.ts";
export { parseToml } from "./toml.ts";
