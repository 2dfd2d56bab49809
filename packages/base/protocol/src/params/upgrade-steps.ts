import { asciiToBytes, concatBytes, hexToBytes, ZERO_ADDRESS } from "@rnode/primitives";
import { L1_ATTRIBUTES_DEPOSITOR, PREDEPLOYS } from "./predeploys.ts";
import { UPGRADE_ARTIFACTS, type UpgradeArtifact } from "./upgrade-artifacts.ts";

/** One deposit of a network upgrade. Spec: docs/protocol/02-derivation.md#network-upgrade-transactions */
export interface UpgradeStep {
  readonly intent: string;
  readonly from: Uint8Array;
  readonly to: Uint8Array | undefined;
  readonly gas: bigint;
  /** calldata, or the artifact to deploy */
  readonly data: Uint8Array | UpgradeArtifact;
  /** wei that the deposit mints and sends; default 0 */
  readonly mint?: bigint;
}

/** A published file of upgrade transactions, with their number and total gas. */
export interface UpgradeBundle {
  /** the prefix of the transactions' intents */
  readonly name: string;
  readonly artifact: UpgradeArtifact;
  readonly transactions: number;
  /** total gas of its transactions */
  readonly gas: bigint;
  /** deposits before and after the bundle's, only on a chain whose dependency set has other chains */
  readonly ofCluster?: { readonly before: readonly UpgradeStep[]; readonly after: readonly UpgradeStep[] };
  /** a configuration can keep the gas in the limit after the activation block (`keep_karst_upgrade_gas`) */
  readonly gasMayStay?: true;
}

/** Gas that is added to the SystemConfig's limit in the activation block: with that of `ofCluster`, on every chain. */
export const bundleGas = ({ gas, ofCluster = { before: [], after: [] } }: UpgradeBundle): bigint =>
  [...ofCluster.before, ...ofCluster.after].reduce((sum, step) => sum + step.gas, gas);

const deployer = (number: number): Uint8Array =>
  hexToBytes(`0x42100000000000000000000000000000000000${number.toString(16).padStart(2, "0")}`);
const deploy = (intent: string, from: Uint8Array, gas: bigint, data: UpgradeArtifact): UpgradeStep => ({
  intent,
  from,
  to: undefined,
  gas,
  data,
});

/** Calls `upgradeTo(address)` on a predeploy's proxy, which accepts it from the zero address. */
const pointProxy = (intent: string, proxy: Uint8Array, implementation: string): UpgradeStep => ({
  intent,
  from: ZERO_ADDRESS,
  to: proxy,
  gas: 50_000n,
  data: concatBytes(hexToBytes("0x3659cfe6"), new Uint8Array(12), hexToBytes(implementation)),
});

const setFork = (intent: string, gas: bigint, selector: string): UpgradeStep => ({
  intent,
  from: L1_ATTRIBUTES_DEPOSITOR,
  to: PREDEPLOYS.gasPriceOracle,
  gas,
  data: hexToBytes(selector),
});

const { l1Block, gasPriceOracle, operatorFeeVault, ethLiquidity } = PREDEPLOYS;
const A = UPGRADE_ARTIFACTS;

export const ECOTONE_UPGRADE: readonly UpgradeStep[] = [
  deploy("Ecotone: L1 Block Deployment", deployer(0), 375_000n, A.ecotoneL1Block),
  deploy("Ecotone: Gas Price Oracle Deployment", deployer(1), 1_000_000n, A.ecotoneGasPriceOracle),
  pointProxy("Ecotone: L1 Block Proxy Update", l1Block, "0x07dbe8500fc591d1852b76fee44d5a05e13097ff"),
  pointProxy("Ecotone: Gas Price Oracle Proxy Update", gasPriceOracle, "0xb528d11cc114e026f138fe568744c6d45ce6da7a"),
  setFork("Ecotone: Gas Price Oracle Set Ecotone", 80_000n, "0x22b90ab3"),
  deploy(
    "Ecotone: beacon block roots contract deployment",
    hexToBytes("0x0b799c86a49deeb90402691f1041aa3af2d3c875"),
    250_000n,
    A.beaconRoots,
  ),
];

export const FJORD_UPGRADE: readonly UpgradeStep[] = [
  deploy("Fjord: Gas Price Oracle Deployment", deployer(2), 1_450_000n, A.fjordGasPriceOracle),
  pointProxy("Fjord: Gas Price Oracle Proxy Update", gasPriceOracle, "0xa919894851548179a0750865e7974da599c0fac7"),
  setFork("Fjord: Gas Price Oracle Set Fjord", 90_000n, "0x8e98b106"),
];

export const ISTHMUS_UPGRADE: readonly UpgradeStep[] = [
  deploy("Isthmus: L1 Block Deployment", deployer(3), 425_000n, A.isthmusL1Block),
  deploy("Isthmus: Gas Price Oracle Deployment", deployer(4), 1_625_000n, A.isthmusGasPriceOracle),
  deploy("Isthmus: Operator Fee Vault Deployment", deployer(5), 500_000n, A.isthmusOperatorFeeVault),
  pointProxy("Isthmus: L1 Block Proxy Update", l1Block, "0xff256497d61dcd71a9e9ff43967c13fde1f72d12"),
  pointProxy("Isthmus: Gas Price Oracle Proxy Update", gasPriceOracle, "0x93e57a196454cb919193fa9946f14943cf733845"),
  pointProxy("Isthmus: Operator Fee Vault Proxy Update", operatorFeeVault, "0x4fa2be8cd41504037f1838bce3bcc93bc68ff537"),
  setFork("Isthmus: Gas Price Oracle Set Isthmus", 90_000n, "0x291b0383"),
  deploy(
    "Isthmus: EIP-2935 Contract Deployment",
    hexToBytes("0x3462413af4609098e1e27a490f554f260213d685"),
    250_000n,
    A.historyStorage,
  ),
];

export const JOVIAN_UPGRADE: readonly UpgradeStep[] = [
  deploy("Jovian: L1 Block Deployment", deployer(6), 447_315n, A.jovianL1Block),
  pointProxy("Jovian: L1 Block Proxy Update", l1Block, "0x3ba4007f5c922fbb33c454b41ea7a1f11e83df2c"),
  deploy("Jovian: Gas Price Oracle Deployment", deployer(7), 1_750_714n, A.jovianGasPriceOracle),
  pointProxy("Jovian: Gas Price Oracle Proxy Update", gasPriceOracle, "0x4f1db3c6abd250ba86e0928471a8f7db3afd88f1"),
  setFork("Jovian: Gas Price Oracle Set Jovian", 90_000n, "0xb3d72079"),
];

export const KARST_UPGRADE: UpgradeBundle = {
  name: "Karst",
  artifact: A.karstBundle,
  transactions: 31,
  gas: 55_370_657n,
  gasMayStay: true,
};

/** The intents have the fork's earlier name. */
export const LAGOON_UPGRADE: UpgradeBundle = {
  name: "Interop",
  artifact: A.lagoonBundle,
  transactions: 29,
  gas: 64_827_394n,
  ofCluster: {
    before: [
      {
        intent: "Interop pre: setFeature(INTEROP)",
        from: L1_ATTRIBUTES_DEPOSITOR,
        to: l1Block,
        gas: 100_000n,
        // setFeature(bytes32), with the name in ASCII
        data: concatBytes(hexToBytes("0x46a4d780"), asciiToBytes("INTEROP"), new Uint8Array(25)),
      },
    ],
    after: [
      {
        intent: "Interop post: ETHLiquidity Funding",
        from: L1_ATTRIBUTES_DEPOSITOR,
        to: ethLiquidity,
        gas: 50_000n,
        data: hexToBytes("0xb60d4288"), // fund()
        mint: (1n << 128n) - 1n,
      },
    ],
  },
};

export const PRELIMINARY_LAGOON_UPGRADE: UpgradeBundle = {
  ...LAGOON_UPGRADE,
  artifact: A.preliminaryLagoonBundle,
  transactions: 28,
  gas: 60_503_172n,
};
