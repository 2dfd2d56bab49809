// The package's own entry point hides which implementation it chose; this entry is the native binding or fails.
declare module "secp256k1/bindings.js" {
  const binding: typeof import("secp256k1");
  // biome-ignore lint/style/noDefaultExport: the shape of a CommonJS module
  export default binding;
}
