// Compiles our contracts and collects those the devnet needs of the published ones into build/contracts.json:
//   { contracts: { Name: { abi, creationCode, runtimeCode, hasImmutables } }, preinstalls: { Name: { address, code } } }
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import solc from "solc";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const CONTRACTS = join(PACKAGE, "contracts");
const PUBLISHED = dirname(createRequire(import.meta.url).resolve("@eth-optimism/contracts-bedrock/package.json"));

/** Published contracts, as `file` or `file:contract`. */
const WANTED = [
  // L1
  "Proxy",
  "ProxyAdmin",
  "AddressManager",
  "L1ChugSplashProxy",
  "ResolvedDelegateProxy",
  "SuperchainConfig",
  "OptimismPortal",
  "L2OutputOracle",
  "OptimismPortal2",
  "DisputeGameFactory",
  "AnchorStateRegistry",
  "DelayedWETH",
  "PermissionedDisputeGame",
  "MIPS",
  "PreimageOracle",
  "DataAvailabilityChallenge",
  "L1CrossDomainMessenger",
  "L1StandardBridge",
  "L1ERC721Bridge",
  // both layers
  "OptimismMintableERC20Factory",
  "OptimismMintableERC20",
  // L2
  "L2CrossDomainMessenger",
  "L2StandardBridge",
  "L2ERC721Bridge",
  "L2ToL1MessagePasser",
  "OptimismMintableERC721Factory",
  "SequencerFeeVault",
  "BaseFeeVault",
  "L1FeeVault",
  "L1BlockNumber",
  "LegacyMessagePasser",
  "DeployerWhitelist",
  "WETH",
  "SchemaRegistry",
  "EAS",
];

const contracts = { ...publishedContracts(), ...ownContracts() };
const preinstalls = publishedPreinstalls();
mkdirSync(join(PACKAGE, "build"), { recursive: true });
writeFileSync(join(PACKAGE, "build", "contracts.json"), JSON.stringify({ contracts, preinstalls }));
console.log(`${Object.keys(contracts).length} contracts, ${Object.keys(preinstalls).length} preinstalls`);

function ownContracts() {
  const sources = {};
  for (const path of readdirSync(CONTRACTS, { recursive: true })) {
    if (!path.endsWith(".sol")) continue;
    const file = join(CONTRACTS, path);
    sources[relative(CONTRACTS, file).replaceAll("\\", "/")] = { content: readFileSync(file, "utf8") };
  }
  const input = {
    language: "Solidity",
    sources,
    settings: {
      // they also run on chains that start with Bedrock, before PUSH0
      evmVersion: "paris",
      optimizer: { enabled: true, runs: 10_000 },
      // no metadata in the bytecode: the same sources give the same genesis everywhere
      metadata: { bytecodeHash: "none", appendCBOR: false },
      outputSelection: { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode"] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const problems = (output.errors ?? []).filter(({ severity }) => severity !== "info");
  if (problems.length > 0) {
    console.error(problems.map(({ formattedMessage }) => formattedMessage).join("\n"));
    process.exit(1);
  }
  const own = {};
  for (const file of Object.values(output.contracts)) {
    for (const [name, { abi, evm }] of Object.entries(file)) {
      if (evm.bytecode.object === "") continue; // an interface
      own[name] = {
        abi,
        creationCode: `0x${evm.bytecode.object}`,
        runtimeCode: `0x${evm.deployedBytecode.object}`,
        hasImmutables: Object.keys(evm.deployedBytecode.immutableReferences ?? {}).length > 0,
      };
    }
  }
  return own;
}

function publishedContracts() {
  const published = {};
  for (const name of WANTED) {
    const file = join(PUBLISHED, "forge-artifacts", `${name}.sol`, `${name}.json`);
    const { abi, bytecode, deployedBytecode } = JSON.parse(readFileSync(file, "utf8"));
    published[name] = {
      abi,
      creationCode: bytecode.object,
      runtimeCode: deployedBytecode.object,
      hasImmutables: Object.keys(deployedBytecode.immutableReferences ?? {}).length > 0,
    };
  }
  return published;
}

/** Contracts that users expect on every chain; the package contains their deployed code in a Solidity library. */
function publishedPreinstalls() {
  const source = readFileSync(join(PUBLISHED, "src", "libraries", "Preinstalls.sol"), "utf8");
  const addresses = new Map(
    [...source.matchAll(/address internal constant (\w+) = (0x[0-9a-fA-F]{40});/g)].map(([, name, address]) => [name, address]),
  );
  const found = {};
  for (const [, constant, code] of source.matchAll(/bytes internal constant (\w+) =\s*hex"([0-9a-f]+)";/g)) {
    const name = constant.replace(/(Template)?Code$/, "");
    const address = addresses.get(name);
    if (!address) throw new Error(`Preinstalls.sol: no address for ${name}`);
    found[name] = { address, code: `0x${code}` };
  }
  if (Object.keys(found).length < 12) throw new Error("Preinstalls.sol does not have the expected form");
  return found;
}
