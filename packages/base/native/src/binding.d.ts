declare module "@rnode/native/binding.cjs" {
  const binding: { readonly modules?: import("./modules.ts").NativeModules; readonly problem?: string };
  // biome-ignore lint/style/noDefaultExport: the shape of a CommonJS module
  export default binding;
}
