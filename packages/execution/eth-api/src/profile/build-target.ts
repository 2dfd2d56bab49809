const isX64 = process.arch === "x64";
/** The machine by Rust's name for it: `x86_64-unknown-linux-gnu`. */
const RUST_TARGETS: Readonly<Partial<Record<NodeJS.Platform, string>>> = {
  linux: "unknown-linux-gnu",
  darwin: "apple-darwin",
  win32: "pc-windows-msvc",
};

export const RUST_TARGET = `${isX64 ? "x86_64" : process.arch === "arm64" ? "aarch64" : process.arch}-${RUST_TARGETS[process.platform] ?? process.platform}`;
/** The machine by Go's name for it: `linux-amd64`. */
export const GO_TARGET = `${process.platform}-${isX64 ? "amd64" : process.arch}`;
