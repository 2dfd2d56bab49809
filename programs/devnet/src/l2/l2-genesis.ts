import {
  extraDataFromAttributes,
  type ForkRules,
  type ForkTimes,
  firstBlockFacts,
  genesisForkTimesToJson,
  hasMinBaseFee,
  OP_FORKS,
  rollupRulesAt,
} from "@rnode/protocol";
import {
  bytesToHex,
  concatHex,
  encodeDeployData,
  getContractAddress,
  type Hex,
  keccak256,
  numberToHex,
  padHex,
  stringToHex,
  toHex,
} from "viem";
import { encodeAbiParameters } from "viem/utils";
import { DEV_BALANCE, type DevAccount, type DevRoles } from "../accounts.ts";
import { type ContractBundle, contract } from "../l1/contracts.ts";
import type { L1Addresses } from "../l1/l1-contracts.ts";
import { type ChainParameters, l2ForkTimes } from "../parameters.ts";
import { rpcCall } from "../rpc.ts";
import { PREDEPLOYS, type PredeployName, predeploy } from "./predeploys.ts";

/** An account in the form of Geth's genesis file: quantities in hex. */
interface GenesisAccount {
  readonly balance: Hex;
  readonly nonce?: Hex;
  readonly code?: Hex;
  readonly storage?: Readonly<Record<Hex, Hex>>;
}

export type GenesisAlloc = Readonly<Record<Hex, GenesisAccount>>;

/** Runs a constructor and returns the deployed code, with immutables filled in. */
export type RunConstructor = (creationCode: Hex) => Promise<Hex>;

export interface L2GenesisInput {
  readonly bundle: ContractBundle;
  readonly parameters: ChainParameters;
  readonly roles: DevRoles;
  readonly accounts: readonly DevAccount[];
  readonly l1: L1Addresses;
  readonly genesisTimeSec: number;
  readonly runConstructor: RunConstructor;
}

const NAMESPACE_SIZE = 2048;
const SLOT_IMPLEMENTATION = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";
const SLOT_ADMIN = "0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103";
/** L2DevFeatureFlags, from Karst on: its first bit lets Lagoon's bundle of optimism v1.19.6 turn messages of other chains on. */
const DEV_FEATURE_FLAGS_SUFFIX = 0x2d;
/** keccak256("l2devfeatureflags.bitmap") − 1 */
const SLOT_DEV_FEATURES = "0xc8bc8f9195cfb2d040744aac63412d02ffc186ea9bd519039edc4666ee9032bc";
const DEAD_SENDER = "0x000000000000000000000000000000000000dEaD";
/** EIP-2935's contract; the specification pins its code by hash. */
const BLOCK_HASH_HISTORY: GenesisCode = {
  address: "0x0000F90827F1C53a10cb7A02335B175320002935",
  code: "0x3373fffffffffffffffffffffffffffffffffffffffe14604657602036036042575f35600143038111604257611fff81430311604257611fff9006545f5260205ff35b5f5ffd5b5f35611fff60014303065500",
};
/** The deployers of the two system contracts; their nonces tell the upgrade transactions of older chains that the code is there. */
const SYSTEM_CONTRACT_DEPLOYERS: readonly Hex[] = [
  "0x0B799C86a49DEeb90402691F1041aa3AF2d3C875",
  "0x3462413Af4609098e1E27A490f554f260213D685",
];
/** How much each fee vault must collect before it can be withdrawn: in a devnet, nothing. */
const VAULT_MIN_WITHDRAWAL = 0n;
const VAULT_NETWORK_L2 = 1;
/** Each possible precompile address has 1 wei, so that a call to it does not create an account. */
const PRECOMPILE_ADDRESSES = 256;

interface GenesisCode {
  readonly address: Hex;
  readonly code: Hex;
}

/** Geth's genesis file for the L2: every predeploy in place, with the code of the newest release; upgrades of later forks replace it. */
export async function createL2Genesis(input: L2GenesisInput): Promise<object> {
  const { parameters, genesisTimeSec } = input;
  const rules = rollupRulesAt(l2ForkTimes(parameters, genesisTimeSec), genesisTimeSec);
  return {
    config: l2ChainConfig(parameters, genesisTimeSec),
    nonce: "0x0",
    timestamp: numberToHex(genesisTimeSec),
    extraData: genesisExtraData(parameters, rules),
    gasLimit: numberToHex(parameters.l2GasLimit),
    difficulty: "0x0",
    mixHash: padHex("0x", { size: 32 }),
    coinbase: predeploy("SequencerFeeVault"),
    alloc: await l2Alloc(input),
    number: "0x0",
    gasUsed: "0x0",
    parentHash: padHex("0x", { size: 32 }),
    baseFeePerGas: numberToHex(1_000_000_000),
    ...(rules.hasBlobGas ? { blobGasUsed: "0x0", excessBlobGas: "0x0" } : {}),
  };
}

export function l2ChainConfig(parameters: ChainParameters, genesisTimeSec: number): object {
  return {
    chainId: parameters.l2ChainId,
    homesteadBlock: 0,
    eip150Block: 0,
    eip155Block: 0,
    eip158Block: 0,
    byzantiumBlock: 0,
    constantinopleBlock: 0,
    petersburgBlock: 0,
    istanbulBlock: 0,
    muirGlacierBlock: 0,
    berlinBlock: 0,
    londonBlock: 0,
    arrowGlacierBlock: 0,
    grayGlacierBlock: 0,
    mergeNetsplitBlock: 0,
    terminalTotalDifficulty: 0,
    bedrockBlock: 0,
    ...genesisForkTimesToJson(l2ForkTimes(parameters, genesisTimeSec)),
    optimism: {
      eip1559Elasticity: parameters.eip1559Elasticity,
      eip1559Denominator: parameters.eip1559Denominator,
      eip1559DenominatorCanyon: parameters.eip1559DenominatorCanyon,
    },
  };
}

function genesisExtraData(parameters: ChainParameters, { extraDataVersion }: ForkRules): Hex {
  if (extraDataVersion === undefined) return "0x";
  const params = { denominator: parameters.eip1559DenominatorCanyon, elasticity: parameters.eip1559Elasticity };
  return bytesToHex(extraDataFromAttributes(new Uint8Array(8), params, hasMinBaseFee(extraDataVersion) ? 0n : undefined));
}

async function l2Alloc(input: L2GenesisInput): Promise<GenesisAlloc> {
  const alloc: Record<Hex, GenesisAccount> = {};
  const put = (address: Hex, account: GenesisAccount): void => {
    alloc[address.toLowerCase() as Hex] = account;
  };
  for (let i = 1; i <= PRECOMPILE_ADDRESSES; i++) put(padHex(toHex(i), { size: 20 }), { balance: "0x1" });
  for (const { address } of input.accounts) put(address, { balance: numberToHex(DEV_BALANCE) });
  putPredeploys(input, put, await predeployCodes(input));
  for (const { address, code } of preinstalls(input)) put(address, { balance: "0x0", nonce: "0x1", code });
  for (const address of SYSTEM_CONTRACT_DEPLOYERS) put(address, { balance: "0x0", nonce: "0x1" });
  const { parameters, genesisTimeSec, bundle } = input;
  const later = createdLater(l2ForkTimes(parameters, genesisTimeSec), bundle.preinstalls.Create2Deployer?.address);
  for (const address of later) delete alloc[address];
  for (const [address, code] of Object.entries(parameters.genesisCodes ?? {})) put(address as Hex, { balance: "0x0", code });
  return alloc;
}

/** The contracts created by the first blocks of forks that are inactive at genesis, and the accounts that create them. */
function createdLater(forkTimes: ForkTimes, create2Deployer: Hex | undefined): Hex[] {
  const addresses = OP_FORKS.filter((fork) => (forkTimes[fork] ?? 0) > 0).flatMap((fork) => {
    const { upgrade, setsCreate2Deployer } = firstBlockFacts(fork);
    const deployers = upgrade.kind === "steps" ? upgrade.steps.filter(({ to }) => to === undefined) : [];
    const created = deployers.flatMap(({ from }) => {
      const deployer = bytesToHex(from);
      return [deployer, getContractAddress({ from: deployer, nonce: 0n })];
    });
    return setsCreate2Deployer && create2Deployer !== undefined ? [...created, create2Deployer] : created;
  });
  return addresses.map((address) => address.toLowerCase() as Hex);
}

/** Every address of the namespace is a proxy; those of predeploys point to an implementation at the mirrored address. */
function putPredeploys(
  { bundle, l1, roles, parameters, genesisTimeSec }: L2GenesisInput,
  put: (address: Hex, account: GenesisAccount) => void,
  codes: ReadonlyMap<PredeployName, Hex>,
): void {
  const proxyCode = contract(bundle, "Proxy").runtimeCode;
  const admin = word(predeploy("ProxyAdmin"));
  const rules = rollupRulesAt(l2ForkTimes(parameters, genesisTimeSec), genesisTimeSec);
  const implementations = new Map<number, PredeployName>(
    (Object.keys(PREDEPLOYS) as PredeployName[]).map((name) => [PREDEPLOYS[name].suffix, name]),
  );
  for (let suffix = 0; suffix < NAMESPACE_SIZE; suffix++) {
    const proxy = predeployAddress(suffix);
    const name = implementations.get(suffix);
    if (name === undefined) {
      const isInCluster = (parameters.otherChains ?? []).length > 0;
      const features = isInCluster && suffix === DEV_FEATURE_FLAGS_SUFFIX ? { [SLOT_DEV_FEATURES]: word("0x01") } : {};
      put(proxy, { balance: "0x0", nonce: "0x1", code: proxyCode, storage: { [SLOT_ADMIN]: admin, ...features } });
      continue;
    }
    const code = codes.get(name)!;
    const { storage, lock } = predeployStorage(name, l1, roles, rules);
    if (!PREDEPLOYS[name].isProxied) {
      put(proxy, { balance: "0x0", nonce: "0x1", code, storage });
      continue;
    }
    const implementation = implementationAddress(suffix);
    put(proxy, {
      balance: "0x0",
      nonce: "0x1",
      code: proxyCode,
      storage: { [SLOT_ADMIN]: admin, [SLOT_IMPLEMENTATION]: word(implementation), ...storage },
    });
    put(implementation, { balance: "0x0", nonce: "0x1", code, storage: lock });
  }
}

/**
 * What `initialize` would have written to the proxy, and the lock that keeps anyone from initializing the implementation itself.
 * Slots follow the storage layouts of the published contracts.
 */
function predeployStorage(
  name: PredeployName,
  l1: L1Addresses,
  roles: DevRoles,
  rules: ForkRules,
): { storage: Readonly<Record<Hex, Hex>>; lock: Readonly<Record<Hex, Hex>> } {
  const initialized = { [slot(0)]: word("0x01") };
  switch (name) {
    case "L2CrossDomainMessenger": {
      // the flag shares its slot with a former 20-byte variable
      const flag = { [slot(0)]: word(concatHex(["0x01", padHex("0x", { size: 20 })])) };
      return {
        storage: { ...flag, [slot(204)]: word(DEAD_SENDER), [slot(207)]: word(l1.L1CrossDomainMessenger) },
        lock: flag,
      };
    }
    case "L2StandardBridge":
      return {
        storage: {
          ...initialized,
          [slot(3)]: word(predeploy("L2CrossDomainMessenger")),
          [slot(4)]: word(l1.L1StandardBridge),
        },
        lock: initialized,
      };
    case "L2ERC721Bridge":
      return {
        storage: { ...initialized, [slot(1)]: word(predeploy("L2CrossDomainMessenger")), [slot(2)]: word(l1.L1ERC721Bridge) },
        lock: initialized,
      };
    case "OptimismMintableERC20Factory":
      return { storage: { ...initialized, [slot(1)]: word(predeploy("L2StandardBridge")) }, lock: initialized };
    case "ProxyAdmin":
      return { storage: { [slot(0)]: word(roles.owner.address) }, lock: {} };
    case "GasPriceOracle":
      return { storage: gasPriceOracleFlags(rules), lock: {} };
    case "LegacyMessagePasser":
    case "DeployerWhitelist":
    case "WETH":
    case "SequencerFeeVault":
    case "L1BlockNumber":
    case "L1Block":
    case "L2ToL1MessagePasser":
    case "OptimismMintableERC721Factory":
    case "BaseFeeVault":
    case "L1FeeVault":
    case "OperatorFeeVault":
    case "SchemaRegistry":
    case "EAS":
      return { storage: {}, lock: {} };
  }
}

/** One byte for each fork that changed fees and tells the contract so, from the right: Ecotone, Fjord, Isthmus, Jovian. */
function gasPriceOracleFlags(rules: ForkRules): Readonly<Record<Hex, Hex>> {
  const { hasDaFootprint, hasOperatorFee, l1FeeEstimatesCompression, l1FeeCountsBlobs } = rules;
  const flags = [hasDaFootprint, hasOperatorFee, l1FeeEstimatesCompression, l1FeeCountsBlobs];
  if (!flags.includes(true)) return {};
  return { [slot(0)]: word(concatHex(flags.map((flag) => (flag ? "0x01" : "0x00")))) };
}

/** The code of each predeploy; if it contains immutables, the constructor is run to get it. */
async function predeployCodes({ bundle, parameters, roles, runConstructor }: L2GenesisInput): Promise<Map<PredeployName, Hex>> {
  const vault = [roles.owner.address, VAULT_MIN_WITHDRAWAL, VAULT_NETWORK_L2];
  const constructorArguments: Partial<Record<PredeployName, readonly unknown[]>> = {
    SequencerFeeVault: vault,
    BaseFeeVault: vault,
    L1FeeVault: vault,
    OperatorFeeVault: vault,
    OptimismMintableERC721Factory: [predeploy("L2ERC721Bridge"), BigInt(parameters.l1ChainId)],
    EAS: [],
  };
  const codes = new Map<PredeployName, Hex>();
  for (const name of Object.keys(PREDEPLOYS) as PredeployName[]) {
    const { abi, creationCode, runtimeCode, hasImmutables } = contract(bundle, name);
    const args = constructorArguments[name];
    if (hasImmutables !== (args !== undefined)) throw new Error(`${name}: constructor arguments and immutables do not fit`);
    codes.set(name, args ? await runConstructor(encodeDeployData({ abi, bytecode: creationCode, args })) : runtimeCode);
  }
  return codes;
}

/** Runs constructors through an `eth_call` without recipient: the answer is the deployed code. */
export function constructorRunner(rpcUrl: string): RunConstructor {
  return (data) => rpcCall<Hex>(rpcUrl, "eth_call", [{ data }, "latest"]);
}

function preinstalls({ bundle, parameters }: L2GenesisInput): GenesisCode[] {
  const all: GenesisCode[] = Object.entries(bundle.preinstalls).map(([name, { address, code }]) => ({
    address,
    code: name === "Permit2" ? permit2Code(address, code, parameters.l2ChainId) : code,
  }));
  return [...all, BLOCK_HASH_HISTORY];
}

/** Permit2's template has room for two immutables: the chain id, and the domain separator that follows from it. */
function permit2Code(address: Hex, template: Hex, chainId: number): Hex {
  const [chainIdAt, separatorAt] = [6945, 6983];
  const separator = keccak256(
    encodeAbiParameters(
      [{ type: "bytes32" }, { type: "bytes32" }, { type: "uint256" }, { type: "address" }],
      [
        keccak256(stringToHex("EIP712Domain(string name,uint256 chainId,address verifyingContract)")),
        keccak256(stringToHex("Permit2")),
        BigInt(chainId),
        address,
      ],
    ),
  );
  const withWord = (code: Hex, at: number, value: Hex): Hex =>
    `${code.slice(0, 2 + at * 2)}${value.slice(2)}${code.slice(2 + at * 2 + 64)}` as Hex;
  return withWord(withWord(template, chainIdAt, padHex(toHex(chainId), { size: 32 })), separatorAt, separator);
}

const word = (value: Hex): Hex => padHex(value, { size: 32 }).toLowerCase() as Hex;
const slot = (index: number): Hex => padHex(toHex(index), { size: 32 });
const predeployAddress = (suffix: number): Hex => concatHex(["0x420000000000000000000000000000000000", toHex(suffix, { size: 2 })]);
const implementationAddress = (suffix: number): Hex =>
  concatHex(["0xc0d3c0d3c0d3c0d3c0d3c0d3c0d3c0d3c0d3", toHex(suffix, { size: 2 })]);
