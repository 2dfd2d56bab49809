// The package's main entry point hides which implementation it selected. This entry point is the native binding, or throws.
declare module "secp256k1/bindings.js" {
  const binding: typeof import("secp256k1");
  // biome-ignore lint/style/noDefaultExport: the shape of a CommonJS module
  export default binding;
}
