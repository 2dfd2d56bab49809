/**
 * The name of the network at `<superchain>/<chain>` of a registry: `<chain>-<superchain>`, without a repeated suffix
 * (`settlus-mainnet`, not `settlus-mainnet-mainnet`).
 */
export function networkName(path: string): string {
  const [superchain = "", chain = ""] = path.split("/");
  return chain === superchain || chain.endsWith(`-${superchain}`) ? chain : `${chain}-${superchain}`;
}

const plain = (name: string): string => name.toLowerCase().replaceAll("_", "-");

/** Names in other software. */
const ALIASES: Readonly<Record<string, string>> = {
  optimism: "op-mainnet",
  "optimism-mainnet": "op-mainnet",
  "optimism-sepolia": "op-sepolia",
};

/**
 * Whether `name` is a name of the network at `path`: its name, upstream's `<chain>-<superchain>`, the path itself, the name
 * without `-mainnet` (`unichain`), or an alias; case-insensitive, with `_` or `-`.
 */
export function isNameOf(name: string, path: string): boolean {
  const [superchain = "", chain = ""] = path.split("/");
  const wanted = plain(name);
  const canonical = ALIASES[wanted] ?? wanted;
  const own = plain(networkName(path));
  return [own, plain(`${chain}-${superchain}`), plain(path)].includes(canonical) || own === `${canonical}-mainnet`;
}
