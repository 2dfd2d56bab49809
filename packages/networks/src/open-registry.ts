import type { RegistrySource } from "./api.ts";
import { registryFolder } from "./registry-folder.ts";

/** The registry of an option `--registry`. */
export const openRegistry = (place: string): RegistrySource => registryFolder(place);
