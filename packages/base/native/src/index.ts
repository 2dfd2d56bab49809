import binding from "@rnode/native/binding.cjs";
import type { NativeModules } from "./modules.ts";

export type { NativeKeccak, NativeSecp256k1 } from "./modules.ts";

/** The modules of this thread; undefined where the addon was not built or does not load, and WebAssembly has to do. */
export const nativeModules: NativeModules | undefined = binding.modules;

/** Why there are none, in words for a log. */
export const nativeProblem: string | undefined = binding.problem;
