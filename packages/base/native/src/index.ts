import binding from "@rnode/native/binding.cjs";
import type { NativeModules } from "./modules.ts";

export type { NativeKeccak, NativeSecp256k1 } from "./modules.ts";

/** The modules of this thread; `undefined` if the addon was not built or does not load. WebAssembly is used then. */
export const nativeModules: NativeModules | undefined = binding.modules;

/** Why there are no modules, as a text for the log. */
export const nativeProblem: string | undefined = binding.problem;
