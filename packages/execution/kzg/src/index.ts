export { kzgContext } from "./context.ts";
export { createKzg } from "./create-kzg.ts";
export type { Kzg } from "./kzg.ts";
export { KzgError } from "./kzg-error.ts";
export { verifySidecar, withCellProofs } from "./sidecar.ts";
