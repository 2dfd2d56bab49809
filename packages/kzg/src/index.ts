export { type KzgContext, kzgContext, loadKzgLibrary } from "./context.ts";
export { createKzg, type KzgOptions } from "./create-kzg.ts";
export type { CellsAndProofs, Kzg, ProvedCell } from "./kzg.ts";
export { KzgError, type KzgErrorCode } from "./kzg-error.ts";
export { verifySidecar, withCellProofs } from "./sidecar.ts";
