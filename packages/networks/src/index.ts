export * from "./api.ts";
export * from "./registry-error.ts";
export { readBounded, registryFolder } from "./registry-folder.ts";
export { parseToml } from "./toml.ts";
