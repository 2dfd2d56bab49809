import { type Abi, encodeDeployData, encodeFunctionData, getContractAddress, type Hex } from "viem";
import { type ContractBundle, contract } from "./contracts.ts";

/** A transaction of the deployer. The steps are sent in order, with consecutive nonces. `to` undefined: a contract creation. */
export interface DeployStep {
  readonly what: string;
  readonly to?: Hex;
  readonly data: Hex;
}

/** Collects the steps of a deployment: all addresses follow from the deployer's nonces. */
export class DeployPlanBuilder {
  readonly steps: DeployStep[] = [];
  /** creates the proxies, and upgrades them */
  readonly proxyAdmin: Hex;
  readonly #bundle: ContractBundle;
  readonly #deployer: Hex;
  readonly #firstNonce: number;

  constructor(bundle: ContractBundle, deployer: Hex, firstNonce: number) {
    this.#bundle = bundle;
    this.#deployer = deployer;
    this.#firstNonce = firstNonce;
    this.proxyAdmin = this.create("ProxyAdmin", [deployer]);
  }

  abiOf(name: string): Abi {
    return contract(this.#bundle, name).abi;
  }

  create(name: string, args: readonly unknown[] = [], what = name): Hex {
    const { abi, creationCode } = contract(this.#bundle, name);
    const address = getContractAddress({ from: this.#deployer, nonce: BigInt(this.#firstNonce + this.steps.length) });
    this.steps.push({ what, data: encodeDeployData({ abi, bytecode: creationCode, args }) });
    return address;
  }

  call(to: Hex, name: string, functionName: string, args: readonly unknown[]): void {
    const data = encodeFunctionData({ abi: this.abiOf(name), functionName, args });
    this.steps.push({ what: `${name}.${functionName}`, to, data });
  }

  proxy(of: string): Hex {
    return this.create("Proxy", [this.proxyAdmin], `proxy of ${of}`);
  }

  /** Creates the implementation of a proxy. @param args of its constructor */
  implement(name: string, args: readonly unknown[] = []): Hex {
    return this.create(name, args, `implementation of ${name}`);
  }

  /** The step that points a proxy to its implementation and initializes it. */
  upgradeStep(name: string, proxy: Hex, implementation: Hex, args: readonly unknown[]): DeployStep {
    return {
      what: `initialize ${name}`,
      to: this.proxyAdmin,
      data: encodeFunctionData({
        abi: this.abiOf("ProxyAdmin"),
        functionName: "upgradeAndCall",
        args: [proxy, implementation, encodeFunctionData({ abi: this.abiOf(name), functionName: "initialize", args: [...args] })],
      }),
    };
  }

  /** @param constructorArgs of the implementation */
  install(name: string, proxy: Hex, args: readonly unknown[], constructorArgs: readonly unknown[] = []): void {
    const implementation = this.implement(name, constructorArgs);
    this.steps.push(this.upgradeStep(name, proxy, implementation, args));
  }
}
